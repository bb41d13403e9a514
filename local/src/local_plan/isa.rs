//! Instruction sets with vector code, and what plans need of them; [`crate::kernel`] detects them.

#![warn(missing_docs)]

use serde::{Deserialize, Serialize};

/// A set of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isa {
    /// Plain Rust, vectorised by the compiler for the build target.
    Generic,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, VL, DQ and BW.
    Avx512,
    /// AArch64's Advanced SIMD.
    Neon,
}

impl Isa {
    /// All instruction sets.
    pub const ALL: [Isa; 4] = [Isa::Generic, Isa::Avx2, Isa::Avx512, Isa::Neon];

    /// The name in machine files and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Generic => "generic",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Neon => "neon",
        }
    }

    /// A vector register's bytes.
    pub const fn vector_bytes(self) -> usize {
        match self {
            Isa::Generic | Isa::Neon => 16,
            Isa::Avx2 => 32,
            Isa::Avx512 => 64,
        }
    }
}
