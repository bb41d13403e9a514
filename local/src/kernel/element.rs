//! The element types of kernels.
//!
//! [`Element`] is sealed: types must have no padding and only valid bit patterns.

#![warn(missing_docs)]

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use num_complex::Complex;

use super::compiled::Compiled;
use super::micro::Vectorized;
use crate::dtype::Dtype;

mod sealed {
    pub trait Sealed: super::Vectorized + super::Compiled {}
}

/// An element type: `f32`, `f64`, or a complex number of two `f32` or two `f64`.
pub trait Element:
    sealed::Sealed
    + Copy
    + Send
    + Sync
    + Default
    + Debug
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + 'static
{
    /// The element type as a [`Dtype`].
    const DTYPE: Dtype;
    /// The number 0.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;

    /// Converts a complex number to the nearest value; real types drop the imaginary part.
    fn from_f64(re: f64, im: f64) -> Self;

    /// Converts this number to double precision.
    fn to_c64(self) -> Complex<f64>;

    /// Returns the complex conjugate; a real number is its own.
    #[must_use]
    fn conjugate(self) -> Self;

    /// Returns this number times `factor`, the `alpha` or `beta` of a contraction. A real factor scales both parts
    /// separately, because a complex multiplication would make one part NaN if the other is infinite.
    #[must_use]
    fn scaled(self, factor: Self) -> Self;
}

macro_rules! real {
    ($type:ty, $dtype:expr) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: Dtype = $dtype;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn from_f64(re: f64, _im: f64) -> Self {
                re as $type
            }

            fn to_c64(self) -> Complex<f64> {
                Complex::new(self as f64, 0.0)
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }

            #[inline(always)]
            fn scaled(self, factor: Self) -> Self {
                self * factor
            }
        }
    };
}

macro_rules! complex {
    ($type:ty, $dtype:expr) => {
        impl sealed::Sealed for Complex<$type> {}

        impl Element for Complex<$type> {
            const DTYPE: Dtype = $dtype;
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);

            fn from_f64(re: f64, im: f64) -> Self {
                Complex::new(re as $type, im as $type)
            }

            fn to_c64(self) -> Complex<f64> {
                Complex::new(self.re as f64, self.im as f64)
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                self.conj()
            }

            #[inline(always)]
            fn scaled(self, factor: Self) -> Self {
                if factor.im == 0.0 { Complex::new(self.re * factor.re, self.im * factor.re) } else { self * factor }
            }
        }
    };
}

real!(f32, Dtype::Float32);
real!(f64, Dtype::Float64);
complex!(f32, Dtype::Complex64);
complex!(f64, Dtype::Complex128);
