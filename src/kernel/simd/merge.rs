//! What happens to a vector on its way into memory.
//!
//! Invariant: those that put never read their destination, so NaN in fresh memory cannot leak. Deliberately absent:
//! which elements meet, which is `tile` and `permute`.

use num_complex::Complex;

use super::{Real, Simd};

/// What becomes of elements of the destination when those of the source arrive.
pub(in super::super) trait Merge<R: Real>: Copy + Send + Sync {
    /// Whether the destination is only written, so that writing an element twice does no harm.
    const PUTS: bool = false;

    /// # Safety
    /// The instructions exist; `LANES` reals may be written, and read unless this only writes.
    unsafe fn all<S: Simd<R>>(self, to: *mut R, value: S::Vector);

    /// # Safety
    /// As [`Merge::all`] for the first `count` reals.
    unsafe fn first<S: Simd<R>>(self, to: *mut R, value: S::Vector, count: usize);
}

/// to = value
#[derive(Clone, Copy)]
pub(in super::super) struct Put;

impl<R: Real> Merge<R> for Put {
    const PUTS: bool = true;

    #[inline(always)]
    unsafe fn all<S: Simd<R>>(self, to: *mut R, value: S::Vector) {
        // SAFETY: the caller's promise.
        unsafe { S::store(to, value) }
    }

    #[inline(always)]
    unsafe fn first<S: Simd<R>>(self, to: *mut R, value: S::Vector, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { S::store_first(to, value, count) }
    }
}

/// A way to merge that reads: what becomes of two vectors.
macro_rules! reading {
    ($name:ty, $real:ident, |$self:ident, $old:ident, $value:ident| $new:expr) => {
        impl<$real: Real> Merge<$real> for $name {
            #[inline(always)]
            unsafe fn all<S: Simd<$real>>($self, to: *mut $real, $value: S::Vector) {
                // SAFETY: the caller's promise.
                unsafe {
                    let $old = S::load(to);
                    S::store(to, $new)
                }
            }

            #[inline(always)]
            unsafe fn first<S: Simd<$real>>($self, to: *mut $real, $value: S::Vector, count: usize) {
                // SAFETY: the caller's promise.
                unsafe {
                    let $old = S::load_first(to, count);
                    S::store_first(to, $new, count)
                }
            }
        }
    };
}

/// to = to + value
#[derive(Clone, Copy)]
pub(in super::super) struct Plus;

reading!(Plus, R, |self, old, value| S::add(old, value));

/// to = alpha value + beta to, with real factors
#[derive(Clone, Copy)]
pub(in super::super) struct Blend<R> {
    pub alpha: R,
    pub beta: R,
}

reading!(Blend<R>, R, |self, old, value| S::mul_add(S::splat(self.beta), old, S::mul(S::splat(self.alpha), value)));

/// The same for complex numbers in pairs of lanes.
#[derive(Clone, Copy)]
pub(in super::super) struct BlendComplex<R> {
    pub alpha: Complex<R>,
    pub beta: Complex<R>,
}

reading!(BlendComplex<R>, R, |self, old, value| S::add(
    times::<S, R>(self.beta, old),
    times::<S, R>(self.alpha, value)
));

/// to = alpha value; the destination is only written.
#[derive(Clone, Copy)]
pub(in super::super) struct Times<C>(pub C);

impl<R: Real> Merge<R> for Times<R> {
    const PUTS: bool = true;

    #[inline(always)]
    unsafe fn all<S: Simd<R>>(self, to: *mut R, value: S::Vector) {
        // SAFETY: the caller's promise.
        unsafe { S::store(to, S::mul(S::splat(self.0), value)) }
    }

    #[inline(always)]
    unsafe fn first<S: Simd<R>>(self, to: *mut R, value: S::Vector, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { S::store_first(to, S::mul(S::splat(self.0), value), count) }
    }
}

impl<R: Real> Merge<R> for Times<Complex<R>> {
    const PUTS: bool = true;

    #[inline(always)]
    unsafe fn all<S: Simd<R>>(self, to: *mut R, value: S::Vector) {
        // SAFETY: the caller's promise.
        unsafe { S::store(to, times::<S, R>(self.0, value)) }
    }

    #[inline(always)]
    unsafe fn first<S: Simd<R>>(self, to: *mut R, value: S::Vector, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { S::store_first(to, times::<S, R>(self.0, value), count) }
    }
}

/// A complex number times those in pairs of lanes.
///
/// # Safety
/// The instructions exist.
#[inline(always)]
unsafe fn times<S: Simd<R>, R: Real>(factor: Complex<R>, value: S::Vector) -> S::Vector {
    // SAFETY: the caller's promise.
    unsafe { S::sub_add(S::mul(S::splat(factor.re), value), S::mul(S::splat(factor.im), S::swap_pairs(value))) }
}
