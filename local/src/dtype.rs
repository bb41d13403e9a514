//! The element type at run time.
//!
//! Only [`crate::kernel`] and the public wrappers are generic over the element type. Integers and half precision are
//! not supported.

use serde::{Deserialize, Serialize};

/// The element type of all tensors in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// `f32`.
    Float32,
    /// `f64`.
    Float64,
    /// Complex number with two `f32` parts.
    Complex64,
    /// Complex number with two `f64` parts.
    Complex128,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::Float32 => 4,
            Dtype::Float64 | Dtype::Complex64 => 8,
            Dtype::Complex128 => 16,
        }
    }

    /// NumPy's name for the type.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::Float32 => "float32",
            Dtype::Float64 => "float64",
            Dtype::Complex64 => "complex64",
            Dtype::Complex128 => "complex128",
        }
    }

    /// Whether elements are complex.
    pub const fn is_complex(self) -> bool {
        matches!(self, Dtype::Complex64 | Dtype::Complex128)
    }

    /// Operations in one multiply-add: 2 for real and 8 for complex numbers.
    pub const fn flops_per_multiply_add(self) -> u64 {
        if self.is_complex() { 8 } else { 2 }
    }

    /// The smallest type that represents both without loss, as in NumPy.
    pub fn promote(self, other: Dtype) -> Dtype {
        let complex = self.is_complex() || other.is_complex();
        let double = |d: Dtype| matches!(d, Dtype::Float64 | Dtype::Complex128);
        match (complex, double(self) || double(other)) {
            (false, false) => Dtype::Float32,
            (false, true) => Dtype::Float64,
            (true, false) => Dtype::Complex64,
            (true, true) => Dtype::Complex128,
        }
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
