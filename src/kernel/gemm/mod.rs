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

use rayon::prelude::*;

use super::Element;
use super::permute::{Factors, permute};
use super::pointer::{Const, Mut};
use crate::local::{Family, GemmPlan, Isa};
use share::Share;

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
    let partials = Mut(partials.as_mut_ptr());
    // Where out's first element has its counterpart in the partial sum of a part of the depth that is not the first.
    let partial = |part: usize| partials.at(((part - 1) * plan.partial_elements() + plan.partial.first) as isize);
    let share = |number: usize, workspace: &mut [T]| {
        let arguments = match plan.grid.depth_part(number) {
            0 => arguments,
            part => Arguments { out: Mut(partial(part)), beta: T::ZERO, ..arguments },
        };
        // SAFETY: the caller's promise; shares are disjoint in out or in a partial sum, which has room for all that lies as
        // out does, and each has its part of the workspace.
        unsafe { Share::new(plan, isa, family, arguments, workspace).run(number) }
    };
    if shares == 1 {
        share(0, workspace);
    } else {
        let parts = workspace.par_chunks_exact_mut(each).with_max_len(1);
        parts.enumerate().for_each(|(number, workspace)| share(number, workspace));
    }
    if let Some(merge) = &plan.merge {
        for part in 1..plan.grid.parts[3] {
            // SAFETY: all shares have ended; every element of the partial sum that has a counterpart in out was written.
            unsafe { permute(merge, isa, partial(part), arguments.out.at(0), Factors::PLUS) };
        }
    }
}
