//! Merges vectors into memory.
//!
//! Old values that are not needed are never read.

use num_complex::Complex;

use super::{Real, Simd};

pub(in super::super) trait Merge<R: Real>: Copy + Send + Sync {
    /// Whether the source's unchanged value replaces the destination.
    const PUTS: bool = false;

    fn reads(self) -> bool {
        !Self::PUTS
    }

    /// `old` is ignored unless [`Merge::reads`] is true.
    ///
    /// # Safety
    /// The processor must support the instruction set `S`.
    unsafe fn merge<S: Simd<R>>(self, old: S::Vector, value: S::Vector) -> S::Vector;

    /// # Safety
    /// The processor must support the instruction set `S`. `LANES` reals must be writable at `to`, and readable if the
    /// merge reads.
    #[inline(always)]
    unsafe fn all<S: Simd<R>>(self, to: *mut R, value: S::Vector) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let old = if self.reads() { S::load(to) } else { S::zero() };
            S::store(to, self.merge::<S>(old, value))
        }
    }

    /// # Safety
    /// Same as for [`Merge::all`], with the first `count` reals.
    #[inline(always)]
    unsafe fn first<S: Simd<R>>(self, to: *mut R, value: S::Vector, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let old = if self.reads() { S::load_first(to, count) } else { S::zero() };
            S::store_first(to, self.merge::<S>(old, value), count)
        }
    }
}

/// `to = value`
#[derive(Clone, Copy)]
pub(in super::super) struct Put;

impl<R: Real> Merge<R> for Put {
    const PUTS: bool = true;

    #[inline(always)]
    unsafe fn merge<S: Simd<R>>(self, _: S::Vector, value: S::Vector) -> S::Vector {
        value
    }
}

/// `to = to + value`
#[derive(Clone, Copy)]
pub(in super::super) struct Plus;

impl<R: Real> Merge<R> for Plus {
    #[inline(always)]
    unsafe fn merge<S: Simd<R>>(self, old: S::Vector, value: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::add(old, value) }
    }
}

/// `to = alpha value + beta to`, or `to = alpha value` if `beta` is `None`
#[derive(Clone, Copy)]
pub(in super::super) struct Blend<F> {
    pub alpha: F,
    pub beta: Option<F>,
}

impl<R: Real, F: Factor<R>> Merge<R> for Blend<F> {
    #[inline(always)]
    fn reads(self) -> bool {
        self.beta.is_some()
    }

    #[inline(always)]
    unsafe fn merge<S: Simd<R>>(self, old: S::Vector, value: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let value = self.alpha.times::<S>(value);
            match self.beta {
                Some(beta) => S::add(beta.times::<S>(old), value),
                None => value,
            }
        }
    }
}

/// With an imaginary part, a factor multiplies pairs of lanes, otherwise each lane, as `Element::scaled` does.
pub(in super::super) trait Factor<R: Real>: Copy + Send + Sync {
    /// # Safety
    /// The processor must support the instruction set `S`.
    unsafe fn times<S: Simd<R>>(self, value: S::Vector) -> S::Vector;
}

impl<R: Real> Factor<R> for R {
    #[inline(always)]
    unsafe fn times<S: Simd<R>>(self, value: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { S::mul(S::splat(self), value) }
    }
}

impl<R: Real> Factor<R> for Complex<R> {
    #[inline(always)]
    unsafe fn times<S: Simd<R>>(self, value: S::Vector) -> S::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let by_real = S::mul(S::splat(self.re), value);
            if self.im == R::ZERO {
                return by_real;
            }
            S::sub_add(by_real, S::mul(S::splat(self.im), S::swap_pairs(value)))
        }
    }
}
