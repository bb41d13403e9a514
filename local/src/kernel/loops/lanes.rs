//! SIMD vectors of any element type. Complex parts are in alternate lanes, and complex products have two sums
//! (`docs/kernels.md`), so that lanes are swapped only once, at the end.

use num_complex::Complex;

use crate::kernel::Element;
use crate::kernel::micro::combined;
use crate::kernel::simd::{Real, Simd, inlined};

/// # Safety
/// Same as for [`Simd`], with pointers valid for the number of elements that each function states.
pub(in super::super) trait Lanes<S>: Element {
    type Vector: Copy;
    type Factor: Copy;
    /// A sum before [`Lanes::finish`] or [`Lanes::total`].
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
    /// Same as [`Simd::pick_words`].
    unsafe fn pick(a: Self::Vector, b: Self::Vector, words: &[u32; 16]) -> Self::Vector;
    unsafe fn pick_within(a: Self::Vector, words: &[u32; 16]) -> Self::Vector;
    /// Multiplies all lanes by `value`.
    unsafe fn splat(value: Self) -> Self::Factor;
    /// Multiplies each lane by that of `vector`.
    unsafe fn each(vector: Self::Vector) -> Self::Factor;
    /// Like [`Lanes::each`], with fewer shuffles, for [`Lanes::total`] only.
    unsafe fn across(vector: Self::Vector) -> Self::Factor;
    unsafe fn plus(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn none() -> Self::Sum;
    unsafe fn times(factor: Self::Factor, vector: Self::Vector) -> Self::Sum;
    unsafe fn plus_times(factor: Self::Factor, vector: Self::Vector, sum: Self::Sum) -> Self::Sum;
    unsafe fn merge(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    unsafe fn pick_sums(a: Self::Sum, b: Self::Sum, words: &[u32; 16]) -> Self::Sum;
    /// Returns the sum of each lane. The flags state whether vectors and factors are conjugated.
    unsafe fn finish(sum: Self::Sum, conjugated: [bool; 2]) -> Self::Vector;
    /// Adds up all lanes of a sum with factors from [`Lanes::across`].
    unsafe fn total(sum: Self::Sum, conjugated: [bool; 2]) -> Self;
    /// Like [`Lanes::total`], for as many sums as a vector has elements.
    #[inline(always)]
    unsafe fn totals(sums: [Self::Sum; 16], conjugated: [bool; 2]) -> Self::Vector {
        let mut lanes = [Self::ZERO; 16];
        // SAFETY: guaranteed by the caller; a vector has at most 16 elements.
        unsafe {
            for i in 0..Self::LANES {
                lanes[i] = Self::total(sums[i], conjugated);
            }
            Self::load(lanes.as_ptr())
        }
    }
    unsafe fn scale(value: Self) -> Self::Scale;
    /// Same as [`Element::scaled`].
    unsafe fn scaled_by(scale: Self::Scale, vector: Self::Vector) -> Self::Vector;
}

impl<R: Real + Element, S: Simd<R>> Lanes<S> for R {
    type Vector = S::Vector;
    type Factor = S::Vector;
    type Sum = S::Vector;
    type Scale = S::Vector;

    const LANES: usize = S::LANES;

    const PORTABLE: bool = S::PORTABLE;

    inlined! {
        load(from: *const R) -> S::Vector = S::load(from);
        load_first(from: *const R, count: usize) -> S::Vector = S::load_first(from, count);
        store(to: *mut R, vector: S::Vector) = S::store(to, vector);
        store_first(to: *mut R, vector: S::Vector, count: usize) = S::store_first(to, vector, count);
        stream(to: *mut R, vector: S::Vector) = S::stream(to, vector);
        pick(a: S::Vector, b: S::Vector, words: &[u32; 16]) -> S::Vector = S::pick_words(a, b, words);
        pick_within(a: S::Vector, words: &[u32; 16]) -> S::Vector = S::pick_within(a, words);
        splat(value: R) -> S::Vector = S::splat(value);
        plus(a: S::Vector, b: S::Vector) -> S::Vector = S::add(a, b);
        none() -> S::Vector = S::zero();
        times(factor: S::Vector, vector: S::Vector) -> S::Vector = S::mul(factor, vector);
        plus_times(factor: S::Vector, vector: S::Vector, sum: S::Vector) -> S::Vector = S::mul_add(factor, vector, sum);
        merge(a: S::Vector, b: S::Vector) -> S::Vector = S::add(a, b);
        pick_sums(a: S::Vector, b: S::Vector, words: &[u32; 16]) -> S::Vector = S::pick_words(a, b, words);
        total(sum: S::Vector, _conjugated: [bool; 2]) -> R = S::sum(sum);
        totals(sums: [S::Vector; 16], _conjugated: [bool; 2]) -> S::Vector = S::lane_sums::<1>(sums);
        scale(value: R) -> S::Vector = S::splat(value);
        scaled_by(scale: S::Vector, vector: S::Vector) -> S::Vector = S::mul(scale, vector);
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
    unsafe fn finish(sum: S::Vector, _conjugated: [bool; 2]) -> S::Vector {
        sum
    }
}

impl<R: Real, S: Simd<R>> Lanes<S> for Complex<R>
where
    Complex<R>: Element,
{
    type Vector = S::Vector;
    type Factor = (S::Vector, S::Vector);
    /// With the first and the second vector of [`Lanes::Factor`].
    type Sum = (S::Vector, S::Vector);
    /// Both parts, and whether the imaginary one is 0.
    type Scale = (S::Vector, S::Vector, bool);

    const LANES: usize = S::LANES / 2;

    const PORTABLE: bool = S::PORTABLE;

    inlined! {
        load(from: *const Self) -> S::Vector = S::load(from.cast());
        load_first(from: *const Self, count: usize) -> S::Vector = S::load_first(from.cast(), 2 * count);
        store(to: *mut Self, vector: S::Vector) = S::store(to.cast(), vector);
        store_first(to: *mut Self, vector: S::Vector, count: usize) = S::store_first(to.cast(), vector, 2 * count);
        stream(to: *mut Self, vector: S::Vector) = S::stream(to.cast(), vector);
        pick(a: S::Vector, b: S::Vector, words: &[u32; 16]) -> S::Vector = S::pick_words(a, b, words);
        pick_within(a: S::Vector, words: &[u32; 16]) -> S::Vector = S::pick_within(a, words);
        splat(value: Self) -> Self::Factor = (S::splat(value.re), S::splat(value.im));
        each(vector: S::Vector) -> Self::Factor = (S::dup_even(vector), S::dup_odd(vector));
        across(vector: S::Vector) -> Self::Factor = (vector, S::swap_pairs(vector));
        plus(a: S::Vector, b: S::Vector) -> S::Vector = S::add(a, b);
        none() -> Self::Sum = (S::zero(), S::zero());
        times((a, b): Self::Factor, vector: S::Vector) -> Self::Sum = (S::mul(a, vector), S::mul(b, vector));
        plus_times((a, b): Self::Factor, vector: S::Vector, (x, y): Self::Sum) -> Self::Sum =
            (S::mul_add(a, vector, x), S::mul_add(b, vector, y));
        merge((a, b): Self::Sum, (x, y): Self::Sum) -> Self::Sum = (S::add(a, x), S::add(b, y));
        pick_sums((a, b): Self::Sum, (x, y): Self::Sum, words: &[u32; 16]) -> Self::Sum =
            (S::pick_words(a, x, words), S::pick_words(b, y, words));
        finish((x, y): Self::Sum, conjugated: [bool; 2]) -> S::Vector = combined::<S, R>(x, y, conjugated);
        scale(value: Self) -> Self::Scale = (S::splat(value.re), S::splat(value.im), value.im == R::ZERO);
    }

    #[inline(always)]
    unsafe fn total((x, y): Self::Sum, [vector, factor]: [bool; 2]) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            // `x` has products of real parts in even lanes, and of imaginary parts in odd lanes. `sub_add` negates the
            // even ones, so the sum is the negative real part. `y` has the factor's imaginary part in even lanes, and
            // the vector's in odd lanes.
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
    unsafe fn scaled_by((re, im, real): Self::Scale, vector: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let by_real = S::mul(re, vector);
            if real { by_real } else { S::sub_add(by_real, S::swap_pairs(S::mul(im, vector))) }
        }
    }
}
