//! Writes sums to `out` with `alpha` and `beta`.

use super::lanes::Lanes;
use crate::kernel::Element;

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Factors<T> {
    pub alpha: T,
    pub beta: T,
    pub conjugated: [bool; 2],
}

impl<T: Element> Factors<T> {
    #[inline(always)]
    pub fn sum(conjugated: [bool; 2]) -> Self {
        Factors { alpha: T::ONE, beta: T::ZERO, conjugated }
    }

    /// `U` is `T`.
    pub fn of<U: Element>(self) -> Factors<U> {
        debug_assert_eq!(T::DTYPE, U::DTYPE);
        // Exact, because `f64` represents every part.
        let same = |value: T| {
            let value = value.to_c64();
            U::from_f64(value.re, value.im)
        };
        Factors { alpha: same(self.alpha), beta: same(self.beta), conjugated: self.conjugated }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Old {
    /// The old value is not read.
    Dropped,
    Kept,
    Scaled,
}

/// The first visit to an element applies `beta`; later visits only add.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Visit<T> {
    factors: Factors<T>,
    scaled: bool,
    pub old: Old,
}

impl<T: Element> Visit<T> {
    #[inline(always)]
    pub fn new(factors: Factors<T>, first: bool) -> Self {
        let old = match factors.beta {
            _ if !first => Old::Kept,
            beta if beta == T::ZERO => Old::Dropped,
            beta if beta == T::ONE => Old::Kept,
            _ => Old::Scaled,
        };
        Visit { factors, scaled: factors.alpha != T::ONE, old }
    }

    /// # Safety
    /// The element may be written, and also read unless the old value is dropped.
    #[inline(always)]
    pub unsafe fn one(&self, out: *mut T, sum: T) {
        let sum = if self.scaled { sum.scaled(self.factors.alpha) } else { sum };
        // SAFETY: guaranteed by the caller.
        unsafe {
            *out = match self.old {
                Old::Dropped => sum,
                Old::Kept => *out + sum,
                Old::Scaled => (*out).scaled(self.factors.beta) + sum,
            }
        }
    }

    pub fn only_writes(&self) -> bool {
        self.old == Old::Dropped && !self.scaled
    }

    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    pub unsafe fn vectors<S>(self) -> Vectors<S, T>
    where
        T: Lanes<S>,
    {
        // SAFETY: guaranteed by the caller.
        let (alpha, beta) = unsafe { (T::scale(self.factors.alpha), T::scale(self.factors.beta)) };
        Vectors { alpha, beta, conjugated: self.factors.conjugated, scaled: self.scaled, old: self.old }
    }
}

pub(in super::super) struct Vectors<S, T: Lanes<S>> {
    alpha: T::Scale,
    beta: T::Scale,
    conjugated: [bool; 2],
    scaled: bool,
    old: Old,
}

impl<S, T: Lanes<S>> Vectors<S, T> {
    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    unsafe fn scaled(&self, sum: T::Sum) -> T::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let sum = T::finish(sum, self.conjugated);
            if self.scaled { T::scaled_by(self.alpha, sum) } else { sum }
        }
    }

    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    unsafe fn joined(&self, old: T::Vector, sum: T::Vector) -> T::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.old {
                Old::Dropped | Old::Kept => T::plus(old, sum),
                Old::Scaled => T::plus(T::scaled_by(self.beta, old), sum),
            }
        }
    }

    /// # Safety
    /// The processor must support the instruction set `S`. A vector of elements must be writable at `out`, and also
    /// readable unless old values are dropped.
    #[inline(always)]
    pub unsafe fn full(&self, out: *mut T, sum: T::Sum) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let sum = self.scaled(sum);
            let new = if self.old == Old::Dropped { sum } else { self.joined(T::load(out), sum) };
            T::store(out, new);
        }
    }

    /// # Safety
    /// Same as for [`Vectors::full`], with the first `count` elements only.
    #[inline(always)]
    pub unsafe fn first(&self, out: *mut T, sum: T::Sum, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let sum = self.scaled(sum);
            let new = if self.old == Old::Dropped { sum } else { self.joined(T::load_first(out, count), sum) };
            T::store_first(out, new, count);
        }
    }

    /// Overwrites old values past the caches.
    ///
    /// # Safety
    /// The processor must support the instruction set `S`. `out` must be aligned to the size of a vector, and a vector
    /// of elements must be writable there.
    #[inline(always)]
    pub unsafe fn stream(&self, out: *mut T, sum: T::Sum) {
        // SAFETY: guaranteed by the caller.
        unsafe { T::stream(out, self.scaled(sum)) }
    }
}
