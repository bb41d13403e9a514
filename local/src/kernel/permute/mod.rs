//! Executes a [`Permute`] plan: `to = alpha from + beta to` for strided tensors of equal shape.
//!
//! If `beta` is 0, `to` is never read. Nothing is allocated.

mod elements;
mod lines;
mod tiles;
mod walk;

use num_complex::Complex;
use rayon::prelude::*;

use super::Element;
use super::pointer::{Const, Mut};
use super::simd::{Blend, Factor, Merge, Plus, Put, Real};
use crate::dtype::Dtype;
use crate::local_plan::{CopyKind, Isa, Permute};

#[derive(Debug, Clone, Copy)]
pub(super) struct Factors<T> {
    pub alpha: T,
    pub beta: T,
}

impl<T: Element> Factors<T> {
    pub const PUT: Self = Factors { alpha: T::ONE, beta: T::ZERO };
    pub const PLUS: Self = Factors { alpha: T::ONE, beta: T::ONE };
}

/// # Safety
/// The processor must support `isa`. The plan is for elements of the size of `T`. Every source offset of the planned
/// loops, added to `from`, points to an element that may be read. Every destination offset, added to `to`, points to an
/// element that may be written, that no other thread accesses, and that is initialised unless `beta` is 0. No two
/// indices refer to the same element of the destination, and the tensors do not overlap.
pub(super) unsafe fn permute<T: Element>(plan: &Permute, isa: Isa, from: *const T, to: *mut T, factors: Factors<T>) {
    assert_eq!(plan.element_bytes(), size_of::<T>(), "a plan for elements of another size");
    let [source, target] = plan.start();
    let (from, to) = (Const(from.wrapping_offset(source)), Mut(to.wrapping_offset(target)));
    // SAFETY: guaranteed by the caller; shares have no block in common, and blocks no element.
    let run = |share: usize| unsafe {
        let share = PermuteShare { plan, share, isa, tensors: Tensors { from: from.at(0), to: to.at(0) } };
        if plan.kind() == CopyKind::Elements { elements::share(share, factors) } else { share.run(factors) }
    };
    match plan.shares() {
        0 => {}
        1 => run(0),
        shares => (0..shares).into_par_iter().with_max_len(1).for_each(run),
    }
}

#[derive(Debug, Clone, Copy)]
struct Tensors<T> {
    from: *const T,
    to: *mut T,
}

impl<T> Tensors<T> {
    #[inline(always)]
    fn at(self, [from, to]: [isize; 2]) -> Self {
        Tensors { from: self.from.wrapping_offset(from), to: self.to.wrapping_offset(to) }
    }
}

/// `T` is the element type or its real type.
#[derive(Debug, Clone, Copy)]
struct PermuteShare<'a, T> {
    plan: &'a Permute,
    share: usize,
    isa: Isa,
    tensors: Tensors<T>,
}

impl<'a, T: Element> PermuteShare<'a, T> {
    fn cast<R>(self) -> PermuteShare<'a, R> {
        let PermuteShare { plan, share, isa, tensors: Tensors { from, to } } = self;
        PermuteShare { plan, share, isa, tensors: Tensors { from: from.cast(), to: to.cast() } }
    }

    /// # Safety
    /// Same as for [`permute`], with one thread's share.
    unsafe fn run(self, factors: Factors<T>) {
        let Factors { alpha, beta } = factors;
        let [first, second] = [alpha, beta].map(T::to_c64);
        // SAFETY: guaranteed by the caller. Elements are cast to the reals that they consist of, or, for a plain copy,
        // to words of 4 bytes, to which every element type is aligned.
        unsafe {
            if alpha == T::ONE && beta == T::ZERO {
                return self.cast::<f32>().merge(Put);
            }
            let plus = alpha == T::ONE && beta == T::ONE;
            match T::DTYPE {
                Dtype::Float32 | Dtype::Complex64 if plus => self.cast::<f32>().merge(Plus),
                Dtype::Float64 | Dtype::Complex128 if plus => self.cast::<f64>().merge(Plus),
                Dtype::Float32 => self.cast::<f32>().blend([first, second].map(|f| f.re as f32)),
                Dtype::Float64 => self.cast::<f64>().blend([first, second].map(|f| f.re)),
                Dtype::Complex64 => {
                    self.cast::<f32>().blend([first, second].map(|f| Complex::new(f.re as f32, f.im as f32)));
                }
                Dtype::Complex128 => self.cast::<f64>().blend([first, second]),
            }
        }
    }
}

impl<R: Real> PermuteShare<'_, R> {
    /// # Safety
    /// Same as for [`permute`], with one thread's share.
    unsafe fn blend<F: Factor<R> + Element>(self, [alpha, beta]: [F; 2]) {
        let beta = (beta != F::ZERO).then_some(beta);
        // SAFETY: guaranteed by the caller.
        unsafe { self.merge(Blend { alpha, beta }) }
    }

    /// # Safety
    /// Same as for [`permute`], with one thread's share.
    unsafe fn merge<M: Merge<R>>(self, merge: M) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.plan.kind() {
                CopyKind::Tiles { .. } => tiles::share(self, merge),
                _ => lines::share(self, merge),
            }
        }
    }

    /// A unit is one element, or several that are moved together.
    fn reals_per_unit(&self) -> usize {
        self.plan.element_bytes() * self.plan.widened() / size_of::<R>()
    }
}

#[cfg(test)]
mod tests;
