//! Contracts as matrix products: packs boxes, multiplies panels, stores tiles, as a [`GemmPlan`] says.
//!
//! Shares of the grid write disjoint boxes of out, each packs into its own part of the workspace and waits for nobody.

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
    let share = |number: usize, workspace: &mut [T]| {
        // SAFETY: the caller's promise; shares are disjoint in out, and each has its part of the workspace.
        unsafe { Share::new(plan, isa, family, arguments, workspace).run(number) }
    };
    if shares == 1 {
        share(0, workspace);
    } else {
        let parts = workspace.par_chunks_exact_mut(each).with_max_len(1);
        parts.take(shares).enumerate().for_each(|(number, workspace)| share(number, workspace));
    }
}
