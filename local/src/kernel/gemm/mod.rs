//! Executes a [`GemmPlan`] with packed panels and micro-kernels (`docs/kernels.md`).

mod batch;
mod contiguous;
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod generated;
mod multiply;
mod pack;
mod share;
mod store;
mod transpose;
mod upcoming;

use std::ops::Range;

use rayon::prelude::*;

use super::Element;
use super::permute::{Factors, permute};
use super::pointer::{Const, Mut};
use crate::local_plan::{GemmPlan, Isa, KernelFamily};
use share::GemmShare;

/// The tensors and factors. The first operand has the rows of the matrix products, the second the columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<T> {
    pub operands: [Const<T>; 2],
    pub conjugated: [bool; 2],
    pub out: Mut<T>,
    pub alpha: T,
    pub beta: T,
}

/// # Safety
/// `arguments` points to the first elements of the tensors that the plan was made for, so all offsets of the plan may
/// be read in the operands and written in `out`. No other code accesses `out`, and `out` is initialised unless `beta`
/// is 0. `workspace` has the number of elements that the plan requires. The processor must support `isa`, `family` must
/// be available, and the plan must have been made for both.
pub(super) unsafe fn run<T: Element>(
    plan: &GemmPlan,
    isa: Isa,
    family: KernelFamily,
    arguments: Arguments<T>,
    workspace: &mut [T],
) {
    let shares = plan.grid.shares();
    let each: usize = plan.share_elements().iter().sum();
    let (workspace, partials) = workspace.split_at_mut(shares * each);
    let depth_sum = DepthSum { plan, isa, family, arguments, partials: Mut(partials.as_mut_ptr()) };
    // SAFETY: guaranteed by the caller; the workspace is large enough for all partial sums.
    unsafe { depth_sum.run(0..plan.depth.boxes(), 0, workspace) };
}

/// A sum over depth boxes (ranges of the summed dimensions): more than [`GemmPlan::leaf_boxes`] are halved recursively,
/// others are added one after the other.
struct DepthSum<'a, T: Element> {
    plan: &'a GemmPlan,
    isa: Isa,
    family: KernelFamily,
    arguments: Arguments<T>,
    partials: Mut<T>,
}

impl<T: Element> DepthSum<'_, T> {
    fn partial(&self, number: usize) -> *mut T {
        self.partials.at((number * self.plan.partial_elements() + self.plan.partial.first) as isize)
    }

    /// Level 0 is `out`; others are overwritten.
    fn target(&self, level: usize) -> (*mut T, T) {
        match level {
            0 => (self.arguments.out.at(0), self.arguments.beta),
            level => (self.partial(self.plan.grid.parts[3] - 1 + level - 1), T::ZERO),
        }
    }

    /// # Safety
    /// Same as for [`run`]. `depth` is a range of the plan's depth boxes, and `level` is the level of the recursion, at
    /// most `plan.levels`.
    unsafe fn run(&self, depth: Range<usize>, level: usize, workspace: &mut [T]) {
        if depth.len() <= self.plan.leaf_boxes {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.run_leaf(&depth, level, workspace) };
        }
        let middle = depth.start + depth.len().div_ceil(2);
        // SAFETY: guaranteed by the caller; the plan has one level for each halving of the depth.
        unsafe {
            self.run(depth.start..middle, level, workspace);
            self.run(middle..depth.end, level + 1, workspace);
            self.merge(self.target(level + 1).0, self.target(level).0);
        }
    }

    /// # Safety
    /// Same as for [`DepthSum::run`].
    unsafe fn run_leaf(&self, depth: &Range<usize>, level: usize, workspace: &mut [T]) {
        let DepthSum { plan, isa, family, arguments, .. } = *self;
        let (out, beta) = self.target(level);
        let target = Mut(out);
        let share = |number: usize, workspace: &mut [T]| {
            let arguments = match plan.grid.depth_part(number) {
                0 => Arguments { out: target, beta, ..arguments },
                part => Arguments { out: Mut(self.partial(part - 1)), beta: T::ZERO, ..arguments },
            };
            // SAFETY: guaranteed by the caller; shares write disjoint elements of `out` or of a partial sum, which has
            // space for all offsets of `out`, and each share has its own part of the workspace.
            unsafe { GemmShare::new(plan, isa, family, arguments, workspace).run(number, depth) }
        };
        let shares = plan.grid.shares();
        if shares == 1 {
            share(0, workspace);
        } else {
            let parts = workspace.par_chunks_exact_mut(workspace.len() / shares).with_max_len(1);
            parts.enumerate().for_each(|(number, workspace)| share(number, workspace));
        }
        for part in 1..plan.grid.parts[3] {
            // SAFETY: all shares have ended; the partial sum was written for every element of `out`.
            unsafe { self.merge(self.partial(part - 1), target.at(0)) };
        }
    }

    /// # Safety
    /// `from` and `to` are initialised, and no other thread accesses them.
    unsafe fn merge(&self, from: *mut T, to: *mut T) {
        if let Some(merge) = &self.plan.merge {
            // SAFETY: guaranteed by the caller.
            unsafe { permute(merge, self.isa, from, to, Factors::PLUS) };
        }
    }
}
