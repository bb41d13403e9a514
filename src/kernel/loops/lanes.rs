//! Provides SIMD vectors of elements of any type. Complex elements have real and imaginary parts in alternate lanes.
//!
//! A complex product consists of the real products with the factor's real and imaginary parts; the latter, with swapped
//! lanes, is subtracted in even lanes and added in odd lanes. Sums accumulate both separately, so that lanes are
//! swapped only once, at the end.

use num_complex::Complex;

use crate::kernel::Element;
use crate::kernel::micro::combined;
use crate::kernel::simd::{Real, Simd};

/// An element type that has vectors for the instruction set `S`.
///
/// # Safety
/// Same as for [`Simd`], with pointers valid for the number of elements that each function states.
pub(super) trait Lanes<S>: Element {
    type Vector: Copy;
    type Factor: Copy;
    /// A sum of products, before [`Lanes::finish`] or [`Lanes::total`].
    type Sum: Copy;
    type Scale: Copy;

    const LANES: usize;

    /// Same as [`Simd::PORTABLE`].
    const PORTABLE: bool;

    /// # Safety
    /// The requirements of the trait hold. This section applies to all functions of the trait.
    unsafe fn load(from: *const Self) -> Self::Vector;
    unsafe fn load_first(from: *const Self, count: usize) -> Self::Vector;
    unsafe fn store(to: *mut Self, vector: Self::Vector);
    unsafe fn store_first(to: *mut Self, vector: Self::Vector, count: usize);
    /// Bypasses the caches. `to` is aligned to the vector's size.
    unsafe fn stream(to: *mut Self, vector: Self::Vector);
    /// Returns a factor that multiplies all lanes by `value`.
    unsafe fn splat(value: Self) -> Self::Factor;
    /// Returns a factor that multiplies each lane by the corresponding element of `vector`.
    unsafe fn each(vector: Self::Vector) -> Self::Factor;
    /// Like [`Lanes::each`], for sums for [`Lanes::total`] only, with fewer shuffles for complex types.
    unsafe fn across(vector: Self::Vector) -> Self::Factor;
    unsafe fn plus(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn none() -> Self::Sum;
    unsafe fn times(factor: Self::Factor, vector: Self::Vector) -> Self::Sum;
    unsafe fn plus_times(factor: Self::Factor, vector: Self::Vector, sum: Self::Sum) -> Self::Sum;
    unsafe fn merge(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// Returns the final sum of each lane. The flags state whether the vectors and whether the factors are conjugated.
    unsafe fn finish(sum: Self::Sum, conjugated: [bool; 2]) -> Self::Vector;
    /// Adds up all lanes of a sum with factors from [`Lanes::across`], with the flags of [`Lanes::finish`].
    unsafe fn total(sum: Self::Sum, conjugated: [bool; 2]) -> Self;
    unsafe fn scale(value: Self) -> Self::Scale;
    /// Scales each lane as [`Element::scaled`] does.
    unsafe fn scaled_by(scale: Self::Scale, vector: Self::Vector) -> Self::Vector;
}

impl<R: Real + Element, S: Simd<R>> Lanes<S> for R {
    type Vector = S::Vector;
    type Factor = S::Vector;
    type Sum = S::Vector;
    type Scale = S::Vector;

    const LANES: usize = S::LANES;

    const PORTABLE: bool = S::PORTABLE;

    #[inline(always)]
    unsafe fn load(from: *const R) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::load(from) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const R, count: usize) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::load_first(from, count) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut R, vector: S::Vector) {
        // SAFETY: guaranteed by the caller.
        unsafe { S::store(to, vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut R, vector: S::Vector, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { S::store_first(to, vector, count) }
    }

    #[inline(always)]
    unsafe fn stream(to: *mut R, vector: S::Vector) {
        // SAFETY: guaranteed by the caller.
        unsafe { S::stream(to, vector) }
    }

    #[inline(always)]
    unsafe fn splat(value: R) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::splat(value) }
    }

    #[inline(always)]
    unsafe fn each(vector: S::Vector) -> S::Vector {
        vector
    }

    #[inline(always)]
    unsafe fn across(vector: S::Vector) -> S::Vector {
        vector
    }

    #[inline(always)]
    unsafe fn plus(a: S::Vector, b: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::add(a, b) }
    }

    #[inline(always)]
    unsafe fn none() -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::zero() }
    }

    #[inline(always)]
    unsafe fn times(factor: S::Vector, vector: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::mul(factor, vector) }
    }

    #[inline(always)]
    unsafe fn plus_times(factor: S::Vector, vector: S::Vector, sum: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::mul_add(factor, vector, sum) }
    }

    #[inline(always)]
    unsafe fn merge(a: S::Vector, b: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::add(a, b) }
    }

    #[inline(always)]
    unsafe fn finish(sum: S::Vector, _conjugated: [bool; 2]) -> S::Vector {
        sum
    }

    #[inline(always)]
    unsafe fn total(sum: S::Vector, _conjugated: [bool; 2]) -> R {
        // SAFETY: guaranteed by the caller.
        unsafe { S::sum(sum) }
    }

    #[inline(always)]
    unsafe fn scale(value: R) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::splat(value) }
    }

    #[inline(always)]
    unsafe fn scaled_by(scale: S::Vector, vector: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::mul(scale, vector) }
    }
}

impl<R: Real, S: Simd<R>> Lanes<S> for Complex<R>
where
    Complex<R>: Element,
{
    type Vector = S::Vector;
    type Factor = (S::Vector, S::Vector);
    /// The sums of products with the first and the second vector of [`Lanes::Factor`].
    type Sum = (S::Vector, S::Vector);
    /// The real part, the imaginary part, and whether the imaginary part is 0.
    type Scale = (S::Vector, S::Vector, bool);

    const LANES: usize = S::LANES / 2;

    const PORTABLE: bool = S::PORTABLE;

    #[inline(always)]
    unsafe fn load(from: *const Self) -> S::Vector {
        // SAFETY: guaranteed by the caller; an element consists of two real numbers.
        unsafe { S::load(from.cast()) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const Self, count: usize) -> S::Vector {
        // SAFETY: as above.
        unsafe { S::load_first(from.cast(), 2 * count) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut Self, vector: S::Vector) {
        // SAFETY: as above.
        unsafe { S::store(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut Self, vector: S::Vector, count: usize) {
        // SAFETY: as above.
        unsafe { S::store_first(to.cast(), vector, 2 * count) }
    }

    #[inline(always)]
    unsafe fn stream(to: *mut Self, vector: S::Vector) {
        // SAFETY: as above.
        unsafe { S::stream(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn splat(value: Self) -> Self::Factor {
        // SAFETY: guaranteed by the caller.
        unsafe { (S::splat(value.re), S::splat(value.im)) }
    }

    #[inline(always)]
    unsafe fn each(vector: S::Vector) -> Self::Factor {
        // SAFETY: guaranteed by the caller.
        unsafe { (S::dup_even(vector), S::dup_odd(vector)) }
    }

    #[inline(always)]
    unsafe fn across(vector: S::Vector) -> Self::Factor {
        // SAFETY: guaranteed by the caller.
        unsafe { (vector, S::swap_pairs(vector)) }
    }

    #[inline(always)]
    unsafe fn plus(a: S::Vector, b: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::add(a, b) }
    }

    #[inline(always)]
    unsafe fn none() -> Self::Sum {
        // SAFETY: guaranteed by the caller.
        unsafe { (S::zero(), S::zero()) }
    }

    #[inline(always)]
    unsafe fn times((a, b): Self::Factor, vector: S::Vector) -> Self::Sum {
        // SAFETY: guaranteed by the caller.
        unsafe { (S::mul(a, vector), S::mul(b, vector)) }
    }

    #[inline(always)]
    unsafe fn plus_times((a, b): Self::Factor, vector: S::Vector, (x, y): Self::Sum) -> Self::Sum {
        // SAFETY: guaranteed by the caller.
        unsafe { (S::mul_add(a, vector, x), S::mul_add(b, vector, y)) }
    }

    #[inline(always)]
    unsafe fn merge((a, b): Self::Sum, (x, y): Self::Sum) -> Self::Sum {
        // SAFETY: guaranteed by the caller.
        unsafe { (S::add(a, x), S::add(b, y)) }
    }

    #[inline(always)]
    unsafe fn finish((x, y): Self::Sum, conjugated: [bool; 2]) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { combined::<S, R>(x, y, conjugated) }
    }

    #[inline(always)]
    unsafe fn total((x, y): Self::Sum, [vector, factor]: [bool; 2]) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            // Even lanes of `x` are products of two real parts, and odd lanes of two imaginary parts. `sub_add` negates
            // the even lanes, so the sum is the negative real part. Even lanes of `y` have the factor's imaginary part,
            // and odd lanes the vector's.
            if vector == factor {
                let negated = S::sum(S::sub_add(S::zero(), x));
                let im = S::sum(y);
                Complex::new(R::ZERO - negated, if vector { R::ZERO - im } else { im })
            } else {
                let im = S::sum(S::sub_add(S::zero(), y));
                Complex::new(S::sum(x), if vector { R::ZERO - im } else { im })
            }
        }
    }

    #[inline(always)]
    unsafe fn scale(value: Self) -> Self::Scale {
        // SAFETY: guaranteed by the caller.
        unsafe { (S::splat(value.re), S::splat(value.im), value.im == R::ZERO) }
    }

    #[inline(always)]
    unsafe fn scaled_by((re, im, real): Self::Scale, vector: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let by_real = S::mul(re, vector);
            if real { by_real } else { S::sub_add(by_real, S::swap_pairs(S::mul(im, vector))) }
        }
    }
}
