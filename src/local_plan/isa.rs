//! Lists the instruction sets with vector code, and the properties that plans need; [`crate::kernel`] detects them.

use serde::{Deserialize, Serialize};

/// A set of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isa {
    /// Plain Rust, which the compiler vectorises for the build target.
    Generic,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, VL, DQ and BW.
    Avx512,
    /// The Advanced SIMD instructions of AArch64.
    Neon,
}

impl Isa {
    /// All instruction sets.
    pub const ALL: [Isa; 4] = [Isa::Generic, Isa::Avx2, Isa::Avx512, Isa::Neon];

    /// Returns the name used in machine files and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Generic => "generic",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Neon => "neon",
        }
    }

    /// Returns the size of a vector register in bytes.
    pub const fn vector_bytes(self) -> usize {
        match self {
            Isa::Generic | Isa::Neon => 16,
            Isa::Avx2 => 32,
            Isa::Avx512 => 64,
        }
    }
}
