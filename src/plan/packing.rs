//! Predicts the packing workspace for local contractions.
//!
//! Guarantee: it equals the bytes that a program for the plan's target reserves for packing after runs on dense arrays:
//! blocks, or whole tensors in which each block is a box. Transport buffers, and packing for other layouts, are not
//! included.

use std::collections::HashMap;

use super::slice_groups::{self, Between};
use super::structure::{Plan, ResultResidency};
use crate::local_plan::{key, plan_contract, plan_unary};
use crate::schedule::{Buffer, BufferPlacement, Home, Schedule, View, Work};

/// Tasks with equal layouts are planned once.
pub struct Packing<'a> {
    plan: &'a Plan,
    elements: HashMap<Vec<isize>, usize>,
    between: Between,
}

impl<'a> Packing<'a> {
    pub fn new(plan: &'a Plan) -> Packing<'a> {
        Packing { plan, elements: HashMap::new(), between: Between::of(plan) }
    }

    pub fn peak_bytes(&mut self, schedule: &Schedule) -> u64 {
        let outside = self.plan.bytes_outside(schedule.rank, self.plan.result, true);
        let beside = self.between.arena_bytes(schedule.rank);
        schedule.peak_bytes().saturating_add(self.bytes(schedule)).saturating_add(outside).saturating_add(beside)
    }

    /// Bytes of workspace; 0 without a target.
    fn bytes(&mut self, schedule: &Schedule) -> u64 {
        let Some(target) = self.plan.target else { return 0 };
        let dtype = self.plan.dtype;
        // Branches pack into separate workspaces.
        let mut branches = vec![0; schedule.max_branches()];
        for (id, task) in schedule.tasks.iter().enumerate() {
            let views: &[&View] = match task.action.work() {
                Some(Work::Contract { left, right, out, .. }) => &[left, right, out],
                Some(Work::Unary { input, out }) => &[input, out],
                _ => continue,
            };
            let blocks: Vec<_> = views.iter().map(|view| schedule.view_layout(view)).collect();
            let array = |view: &View| self.array(&schedule.buffers[view.buffer]);
            let boxes = views.iter().map(|view| schedule.box_of(view, &array(view))).collect();
            for tensors in [blocks, boxes] {
                let layouts: Vec<_> = tensors.iter().map(|tensor| tensor.layout()).collect();
                let elements = || match &layouts[..] {
                    [left, right, out] => plan_contract(left, right, out, dtype, &target).workspace_elements(),
                    [input, out, ..] => plan_unary(input, out, dtype, &target).workspace_elements(),
                    _ => 0,
                };
                let needs = *self.elements.entry(key(&layouts)).or_insert_with(elements);
                let branch = &mut branches[schedule.branch(id)];
                *branch = needs.max(*branch);
            }
        }
        let elements = branches.into_iter().fold(0usize, usize::saturating_add);
        elements.saturating_mul(dtype.size()) as u64
    }

    /// The dense array in which this buffer is a box: for operands and the result the whole tensor, else the buffer.
    fn array(&self, buffer: &Buffer) -> Vec<usize> {
        let one_box =
            |place: &BufferPlacement| place.region.dims().iter().all(|intervals| intervals.ranges().len() <= 1);
        // Slices of groups work on dense blocks and copies.
        let home = if slice_groups::has_groups(self.plan) { Home::Arena } else { buffer.home };
        let whole = match home {
            Home::Operand(index) if self.plan.operands_in_parts.contains(&index) => None,
            Home::Operand(index) => Some(self.plan.operand_shape(index)),
            Home::Output if self.plan.result == ResultResidency::Whole => Some(self.plan.output_shape()),
            Home::Output | Home::Arena | Home::Exchange => None,
        };
        whole.filter(|_| buffer.place.as_ref().is_some_and(one_box)).unwrap_or_else(|| buffer.within.clone())
    }
}

/// Of the sampled ranks: the most bytes, and the rank.
pub fn busiest(plan: &Plan) -> (u64, usize) {
    let mut packing = Packing::new(plan);
    let peaks = plan.sampled_ranks().into_iter().map(|rank| (packing.peak_bytes(&plan.schedule(rank)), rank));
    // A later rank may need more memory to relay data.
    peaks.max_by_key(|&(peak, rank)| (peak, std::cmp::Reverse(rank))).unwrap_or_default()
}
