//! Programs and tensors of any element type.

use einsum_dist::{DistTensor, Dtype, Program};
use num_complex::Complex;

use super::status::{Failure, Result};

/// The type of elements. Complex numbers are pairs of a real and an imaginary part, as in C99 and Fortran.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum einsum_dist_type {
    /// `float`.
    EINSUM_DIST_FLOAT32 = 0,
    /// `double`.
    EINSUM_DIST_FLOAT64 = 1,
    /// `float complex`.
    EINSUM_DIST_COMPLEX64 = 2,
    /// `double complex`.
    EINSUM_DIST_COMPLEX128 = 3,
}

/// Types are passed as integers, because an enum with another value would be undefined behaviour.
pub fn dtype(number: i32) -> Result<Dtype> {
    use einsum_dist_type::{EINSUM_DIST_COMPLEX64, EINSUM_DIST_COMPLEX128, EINSUM_DIST_FLOAT32, EINSUM_DIST_FLOAT64};
    let all = [
        (EINSUM_DIST_FLOAT32, Dtype::Float32),
        (EINSUM_DIST_FLOAT64, Dtype::Float64),
        (EINSUM_DIST_COMPLEX64, Dtype::Complex64),
        (EINSUM_DIST_COMPLEX128, Dtype::Complex128),
    ];
    let found = all.into_iter().find(|(code, _)| *code as i32 == number).map(|(_, dtype)| dtype);
    found.ok_or_else(|| Failure::usage(format!("there is no type {number}: types are 0 to 3")))
}

pub enum AnyProgram {
    Float32(Program<f32>),
    Float64(Program<f64>),
    Complex64(Program<Complex<f32>>),
    Complex128(Program<Complex<f64>>),
}

pub enum AnyTensor {
    Float32(DistTensor<f32>),
    Float64(DistTensor<f64>),
    Complex64(DistTensor<Complex<f32>>),
    Complex128(DistTensor<Complex<f64>>),
}

/// Evaluates an expression with a program or tensor, whatever its element type is.
macro_rules! with {
    ($kind:ident, $any:expr, $value:ident => $result:expr) => {
        match $any {
            $kind::Float32($value) => $result,
            $kind::Float64($value) => $result,
            $kind::Complex64($value) => $result,
            $kind::Complex128($value) => $result,
        }
    };
}

/// Makes a program or tensor with the function for its element type.
macro_rules! of_type {
    ($kind:ident, $dtype:expr, $make:expr) => {
        match $dtype {
            Dtype::Float32 => $make.map($kind::Float32),
            Dtype::Float64 => $make.map($kind::Float64),
            Dtype::Complex64 => $make.map($kind::Complex64),
            Dtype::Complex128 => $make.map($kind::Complex128),
        }
    };
}

pub(crate) use {of_type, with};
