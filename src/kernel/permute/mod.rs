//! Executes a [`Permute`] plan, which copies or adds one strided tensor to another: `to = alpha from + beta to`.
//!
//! | file | contents |
//! |---|---|
//! | `walk` | iteration over the blocks of one thread's share |
//! | `lines` | blocks whose lines are contiguous in both tensors, or filled with one value |
//! | `tiles` | blocks that are transposed |
//! | `elements` | blocks without contiguous lines |
//!
//! With `beta` = 0, the destination is never read. No memory outside the tensors is accessed, and nothing is allocated.
//! This module uses strides only; `unary` translates labels to strides.

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

/// The factors of a copy that computes `to = alpha from + beta to`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors<T> {
    pub alpha: T,
    pub beta: T,
}

impl<T: Element> Factors<T> {
    /// `to = from`
    pub const PUT: Self = Factors { alpha: T::ONE, beta: T::ZERO };
    /// `to = from + to`
    pub const PLUS: Self = Factors { alpha: T::ONE, beta: T::ONE };
}

/// Executes `plan` on two tensors, given by pointers to their first elements.
///
/// # Safety
/// The instruction set is available. The plan is for elements of the size of `T`. Every source offset of the planned
/// loops, added to `from`, points to an element that may be read. Every destination offset, added to `to`, points to an
/// element that may be written, that no other thread accesses, and that is initialised unless `beta` is 0. No two
/// indices refer to the same element of the destination, and the tensors do not overlap.
pub(super) unsafe fn permute<T: Element>(plan: &Permute, isa: Isa, from: *const T, to: *mut T, factors: Factors<T>) {
    assert_eq!(plan.element_bytes(), size_of::<T>(), "a plan for elements of another size");
    let [source, target] = plan.start();
    let (from, to) = (Const(from.wrapping_offset(source)), Mut(to.wrapping_offset(target)));
    // SAFETY: guaranteed by the caller for each share; shares have different blocks, and blocks have different
    // elements.
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

/// Pointers to the first elements of both tensors.
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

/// One thread's share of a plan. `T` is the element type, or the type of the reals that elements consist of.
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
        // SAFETY: guaranteed by the caller. Elements are cast to the real type that they consist of. A plain copy moves
        // words of 4 bytes instead; every element type is aligned to 4 bytes.
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

    /// Returns the number of reals that the plan moves as one unit, which is one element or several adjacent elements.
    fn reals_per_unit(&self) -> usize {
        self.plan.element_bytes() * self.plan.widened() / size_of::<R>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::available;
    use super::*;
    use crate::local_plan::Dim;

    fn each_offset(dims: &[Dim<2>], mut visit: impl FnMut([isize; 2])) {
        for number in 0..dims.iter().map(|d| d.extent).product() {
            let (mut rest, mut at) = (number, [0; 2]);
            for dim in dims {
                (0..2).for_each(|t| at[t] += (rest % dim.extent) as isize * dim.strides[t]);
                rest /= dim.extent;
            }
            visit(at);
        }
    }

    /// Uses integers, so that the order of operations does not matter.
    fn merges<T: Element>(isa: Isa, dims: &[Dim<2>], [source, target]: [usize; 2]) {
        let whole = |i: usize| T::from_f64((i % 251) as f64, (i % 13) as f64);
        let from: Vec<T> = (0..source).map(whole).collect();
        let (one, two) = (T::ONE, T::from_f64(2.0, -1.0));
        for (alpha, beta) in [(one, T::ZERO), (one, one), (one, two), (two, T::ZERO), (two, one), (two, two)] {
            let mut to: Vec<T> = (0..target).map(|i| whole(i + 7)).collect();
            let mut want = to.clone();
            each_offset(dims, |[f, t]| {
                let old = if beta == T::ZERO { T::ZERO } else { beta * want[t as usize] };
                want[t as usize] = old + alpha * from[f as usize];
            });
            if beta == T::ZERO {
                let nan = T::from_f64(f64::NAN, f64::NAN);
                each_offset(dims, |[_, t]| to[t as usize] = nan);
            }
            let plan = Permute::new(dims, size_of::<T>(), 1);
            // SAFETY: the caller checked that the instruction set is available; every offset is inside the slices.
            unsafe { permute(&plan, isa, from.as_ptr(), to.as_mut_ptr(), Factors { alpha, beta }) };
            assert!(to == want, "{} {} {dims:?} {alpha:?} {beta:?}", isa.name(), T::DTYPE.name());
        }
    }

    #[test]
    fn alpha_and_beta_wherever_elements_lie() {
        let dim = |extent, from, to| Dim { extent, strides: [from, to] };
        let cases: [(&[Dim<2>], [usize; 2]); 7] = [
            (&[dim(37, 29, 1), dim(29, 1, 37)], [1073, 1073]),
            (&[dim(300, 200, 1), dim(200, 1, 300)], [60_000, 60_000]),
            (&[dim(37, 30, 29), dim(29, 1, 1)], [1110, 1073]),
            (&[dim(37, 0, 29), dim(29, 0, 1)], [1, 1073]),
            (&[dim(37, 2, 29), dim(29, 74, 1)], [2146, 1073]),
            (&[dim(9, 26, 2), dim(13, 2, 18), dim(2, 1, 1)], [234, 234]),
            (&[dim(1200, 1000, 1), dim(1000, 1, 1200)], [1_200_000, 1_200_000]),
        ];
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            for (dims, sizes) in cases {
                merges::<f32>(isa, dims, sizes);
                merges::<f64>(isa, dims, sizes);
                merges::<Complex<f32>>(isa, dims, sizes);
                merges::<Complex<f64>>(isa, dims, sizes);
            }
        }
    }
}
