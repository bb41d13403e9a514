//! Executes a [`LoopPlan`]: loops instead of matrix products (`docs/kernels.md`).
//!
//! `beta` is applied at the first visit to an element of `out`. A sum is finished before it is added to the old value,
//! except in [`Dots`] nests (at most 16 parts). Partial results are added in the order of the shares.

mod blocks;
mod buffer;
mod dots;
mod lanes;
mod line;
mod strided;
#[cfg(test)]
mod tests;
mod update;
mod walk;

use num_complex::Complex;

use super::Element;
use super::pointer::{Const, Mut};
use super::simd::{Body, Both, dispatch};
use crate::dtype::Dtype;
use crate::local_plan::{Dots, Isa, Line, LoopPlan, Nest, Partials, ThreadShare};
use buffer::Buffer;
pub(super) use lanes::Lanes;
use update::Old;
pub(super) use update::{Factors, Vectors, Visit};
use walk::Walk;

#[derive(Debug)]
struct Task<'a, T, N> {
    nest: &'a N,
    factors: Factors<T>,
    first: *const T,
    second: *const T,
    out: *mut T,
    /// For [`Buffer::elements`] unfinished sums; `None` if sums may be added in parts.
    buffer: Option<*mut T>,
}

/// Computes `out = alpha left right + beta out`.
///
/// # Safety
/// The processor must support `isa`. The elements of `left` and `right` at the offsets of the plan's loops may be read.
/// The offsets in `out` are distinct. No other code accesses the elements of `out` at these offsets, and they are
/// initialised unless `beta` is 0.
///
/// # Panics
/// If the workspace has fewer elements than the plan requires.
pub(super) unsafe fn run<T: Element>(
    plan: &LoopPlan,
    isa: Isa,
    (alpha, beta): (T, T),
    [left, right]: [*const T; 2],
    [conj_left, conj_right]: [bool; 2],
    out: *mut T,
    workspace: &mut [T],
) {
    let [first, second] = if plan.swapped { [right, left] } else { [left, right] };
    let conjugated = if plan.swapped { [conj_right, conj_left] } else { [conj_left, conj_right] };
    let (first, second) = (Const(first), Const(second));
    let workspace = &mut workspace[..plan.workspace_elements()];
    let scratch = Mut(workspace.as_mut_ptr());
    let Some(partials) = &plan.partials else {
        let factors = Factors { alpha, beta, conjugated };
        // SAFETY: guaranteed by the caller; shares visit disjoint elements of `out`.
        return unsafe { shares(&plan.shares, isa, factors, (first, second, Mut(out)), scratch) };
    };
    let factors = Factors::sum(conjugated);
    // SAFETY: guaranteed by the caller; shares write their own parts of the workspace, whose length was checked.
    unsafe { shares(&plan.shares, isa, factors, (first, second, scratch), scratch) };
    let results = &workspace[..plan.shares.len() * partials.step];
    // SAFETY: the partial results were written above; the caller guarantees access to `out`.
    unsafe { add(partials, results, Factors { alpha, beta, conjugated }, out) };
}

/// # Safety
/// Same as for [`run`]; the shares' loops visit disjoint elements of `out`, and the shares' buffers are in `scratch`.
unsafe fn shares<T: Element>(
    list: &[ThreadShare],
    isa: Isa,
    factors: Factors<T>,
    tensors: (Const<T>, Const<T>, Mut<T>),
    scratch: Mut<T>,
) {
    match list {
        // SAFETY: guaranteed by the caller.
        [one] => unsafe { share(one, isa, factors, tensors, scratch) },
        list => {
            let (head, tail) = list.split_at(list.len() / 2);
            // SAFETY: guaranteed by the caller; all shares are disjoint.
            rayon::join(
                || unsafe { shares(head, isa, factors, tensors, scratch) },
                || unsafe {
                    shares(tail, isa, factors, tensors, scratch);
                },
            );
        }
    }
}

/// # Safety
/// Same as for [`run`], with the loops of one thread's share.
unsafe fn share<T: Element>(
    share: &ThreadShare,
    isa: Isa,
    factors: Factors<T>,
    (first, second, out): (Const<T>, Const<T>, Mut<T>),
    scratch: Mut<T>,
) {
    let [at_first, at_second, at_out] = share.start;
    let (first, second, out) = (first.at(at_first), second.at(at_second), out.at(at_out));
    // SAFETY: guaranteed by the caller.
    unsafe {
        match &share.blocks {
            None => nest(&share.nest, isa, factors, [first, second], out),
            Some(blocks) => {
                let sum =
                    blocks::Sum { blocks, nest: &share.nest, isa, operands: [first, second], scratch: scratch.at(0) };
                sum.run(factors, out);
            }
        }
    }
}

/// # Safety
/// Same as for [`run`], with one nest.
unsafe fn nest<T: Element>(nest: &Nest, isa: Isa, factors: Factors<T>, [first, second]: [*const T; 2], out: *mut T) {
    let task = Task { nest, factors, first, second, out, buffer: None };
    let adds = Visit::new(factors, true).old != Old::Dropped;
    // SAFETY: guaranteed by the caller.
    unsafe { if adds && revisits(nest, T::DTYPE) { buffered(task, isa) } else { task.run(isa) } }
}

/// Whether a nest, other than [`Dots`] with at most 16 parts, would add a sum in several parts without a buffer.
fn revisits(nest: &Nest, dtype: Dtype) -> bool {
    match nest {
        Nest::Line(line) => line::revisits(line, dtype),
        Nest::Strided(nest) => strided::revisits(nest),
        Nest::Dots(_) => false,
    }
}

/// Not inlined, so that other nests have no buffer on the stack.
///
/// # Safety
/// Same as for [`run`], with one nest.
#[inline(never)]
unsafe fn buffered<T: Element>(task: Task<'_, T, Nest>, isa: Isa) {
    let mut buffer = Buffer::new();
    // SAFETY: guaranteed by the caller.
    unsafe { Task { buffer: Some(buffer.start()), ..task }.run(isa) }
}

impl<T: Element> Task<'_, T, Nest> {
    /// # Safety
    /// Same as for the function [`run`](fn@run), with the loops of this nest. If there is a `buffer`, it has room for
    /// [`Buffer::elements`] sums.
    unsafe fn run(&self, isa: Isa) {
        // SAFETY: guaranteed by the caller; `T` is the type that `T::DTYPE` names, because `Element` is sealed.
        unsafe {
            match (self.nest, T::DTYPE) {
                (Nest::Strided(nest), _) => strided::run(&self.of::<T, _>(nest)),
                (Nest::Line(nest), Dtype::Float32) => dispatch(isa, self.of::<f32, _>(nest)),
                (Nest::Line(nest), Dtype::Float64) => dispatch(isa, self.of::<f64, _>(nest)),
                (Nest::Line(nest), Dtype::Complex64) => dispatch(isa, self.of::<Complex<f32>, _>(nest)),
                (Nest::Line(nest), Dtype::Complex128) => dispatch(isa, self.of::<Complex<f64>, _>(nest)),
                (Nest::Dots(nest), Dtype::Float32) => dispatch(isa, self.of::<f32, _>(nest)),
                (Nest::Dots(nest), Dtype::Float64) => dispatch(isa, self.of::<f64, _>(nest)),
                (Nest::Dots(nest), Dtype::Complex64) => dispatch(isa, self.of::<Complex<f32>, _>(nest)),
                (Nest::Dots(nest), Dtype::Complex128) => dispatch(isa, self.of::<Complex<f64>, _>(nest)),
            }
        }
    }
}

impl<T: Element, M> Task<'_, T, M> {
    /// `nest` is the content of this [`Nest`]; `U` is `T`.
    fn of<'a, U: Element, N>(&self, nest: &'a N) -> Task<'a, U, N> {
        debug_assert_eq!(T::DTYPE, U::DTYPE);
        let factors = self.factors.of();
        let (first, second) = (self.first.cast(), self.second.cast());
        Task { nest, factors, first, second, out: self.out.cast(), buffer: self.buffer.map(|at| at.cast()) }
    }
}

macro_rules! bodies {
    ($($type:ty),*) => { $(
        impl Body for Task<'_, $type, Line> {
            type Output = ();

            #[inline(always)]
            unsafe fn run<S: Both>(self) {
                // SAFETY: guaranteed by the caller.
                unsafe { line::run::<S, $type>(&self) }
            }
        }

        impl Body for Task<'_, $type, Dots> {
            type Output = ();

            #[inline(always)]
            unsafe fn run<S: Both>(self) {
                // SAFETY: guaranteed by the caller.
                unsafe { dots::run::<S, $type>(&self) }
            }
        }
    )* };
}

bodies!(f32, f64, Complex<f32>, Complex<f64>);

/// # Safety
/// The offsets of the loops are inside each partial result. Their offsets in `out` meet the requirements of [`run`].
unsafe fn add<T: Element>(partials: &Partials, results: &[T], factors: Factors<T>, out: *mut T) {
    let visit = Visit::new(factors, true);
    let mut walk = Walk::new();
    loop {
        let [at, to] = walk.at();
        let mut sum = T::ZERO;
        for result in results.chunks_exact(partials.step) {
            sum += result[at as usize];
        }
        // SAFETY: guaranteed by the caller.
        unsafe { visit.one(out.wrapping_offset(partials.start + to), sum) };
        if !walk.next(&partials.out_loops) {
            return;
        }
    }
}
