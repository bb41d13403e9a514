//! Contracts as matrix products: packs boxes, multiplies panels, stores tiles, as a [`GemmPlan`] says.
//!
//! Shares of the grid write disjoint boxes of out, or of partial sums that are added to it in a fixed order at the end. Each
//! packs into its own part of the workspace and waits for nobody.

mod batch;
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod generated;
mod multiply;
mod pack;
mod run;
mod share;
mod store;

use std::ops::Range;

use rayon::prelude::*;

use super::Element;
use super::permute::{Factors, permute};
use super::pointer::{Const, Mut};
use crate::local_plan::{Family, GemmPlan, Isa};
use share::GemmShare;

/// The tensors and factors of one run, in the order of the plan: rows' operand, columns' operand, out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<T> {
    pub operands: [Const<T>; 2],
    pub out: Mut<T>,
    pub alpha: T,
    pub beta: T,
}

/// # Safety
/// The plan is for tensors of which `arguments` holds the first elements: all its offsets may be read in the operands and
/// written in out, which nobody else touches and which holds values unless beta is 0. `workspace` has as many elements as
/// the plan asks for. The instruction set and the family are available, and those of the plan.
pub(super) unsafe fn run<T: Element>(
    plan: &GemmPlan,
    isa: Isa,
    family: Family,
    arguments: Arguments<T>,
    workspace: &mut [T],
) {
    let shares = plan.grid.shares();
    let each: usize = plan.share_elements().iter().sum();
    let (workspace, partials) = workspace.split_at_mut(shares * each);
    let deep = Deep { plan, isa, family, arguments, partials: Mut(partials.as_mut_ptr()) };
    // SAFETY: the caller's promise; there is room for all partial sums.
    unsafe { deep.run(0..plan.depth.boxes(), 0, workspace) };
}

/// A sum of depth boxes: halves of it until few are left, which are added one after the other. So rounding errors grow with
/// the logarithm of their number (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 4.2).
struct Deep<'a, T: Element> {
    plan: &'a GemmPlan,
    isa: Isa,
    family: Family,
    arguments: Arguments<T>,
    partials: Mut<T>,
}

impl<T: Element> Deep<'_, T> {
    /// Where out's first element has its counterpart in a partial sum.
    fn partial(&self, number: usize) -> *mut T {
        self.partials.at((number * self.plan.partial_elements() + self.plan.partial.first) as isize)
    }

    /// Out, or the partial sum of a level that is not the first, and what becomes of its values.
    fn target(&self, level: usize) -> (*mut T, T) {
        match level {
            0 => (self.arguments.out.at(0), self.arguments.beta),
            level => (self.partial(self.plan.grid.parts[3] - 1 + level - 1), T::ZERO),
        }
    }

    /// # Safety
    /// As [`run`], for depth boxes of the plan and a level that it has.
    unsafe fn run(&self, depth: Range<usize>, level: usize, workspace: &mut [T]) {
        if depth.len() <= self.plan.leaf {
            // SAFETY: the caller's promise.
            return unsafe { self.leaf(&depth, level, workspace) };
        }
        let middle = depth.start + depth.len().div_ceil(2);
        // SAFETY: the caller's promise: the plan has a level for each time that its depth is halved.
        unsafe {
            self.run(depth.start..middle, level, workspace);
            self.run(middle..depth.end, level + 1, workspace);
            self.merge(self.target(level + 1).0, self.target(level).0);
        }
    }

    /// # Safety
    /// As [`Deep::run`].
    unsafe fn leaf(&self, depth: &Range<usize>, level: usize, workspace: &mut [T]) {
        let Deep { plan, isa, family, arguments, .. } = *self;
        let (out, beta) = self.target(level);
        let target = Mut(out);
        let share = |number: usize, workspace: &mut [T]| {
            let arguments = match plan.grid.depth_part(number) {
                0 => Arguments { out: target, beta, ..arguments },
                part => Arguments { out: Mut(self.partial(part - 1)), beta: T::ZERO, ..arguments },
            };
            // SAFETY: the caller's promise; shares are disjoint in out or in a partial sum, which has room for all that lies
            // as out does, and each has its part of the workspace.
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
            // SAFETY: all shares have ended; every element of the partial sum that has a counterpart in out was written.
            unsafe { self.merge(self.partial(part - 1), target.at(0)) };
        }
    }

    /// Adds a partial sum onto out or another one.
    ///
    /// # Safety
    /// Both hold values, and no thread touches them.
    unsafe fn merge(&self, from: *mut T, to: *mut T) {
        if let Some(merge) = &self.plan.merge {
            // SAFETY: the caller's promise.
            unsafe { permute(merge, self.isa, from, to, Factors::PLUS) };
        }
    }
}
