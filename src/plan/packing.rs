//! What ranks pack into: the workspace of their local contractions, known before there is a tensor.
//!
//! Invariant: with the target that a program is compiled for, the bytes that it has reserved after it ran on dense blocks of the
//! user's, and on whole dense arrays of which their blocks are boxes. Deliberately absent: what transports pack into, and other
//! arrays of the user's.

use std::collections::HashMap;

use super::{Plan, ResultResidency};
use crate::local_plan::{key, plan_contract};
use crate::schedule::{Buffer, BufferPlacement, Home, Schedule, Work};

/// Finds the workspace of schedules of one plan, of contractions that are alike once.
pub struct Packing<'a> {
    plan: &'a Plan,
    elements: HashMap<Vec<isize>, usize>,
}

impl<'a> Packing<'a> {
    pub fn new(plan: &'a Plan) -> Packing<'a> {
        Packing { plan, elements: HashMap::new() }
    }

    /// Bytes of the user's blocks, the arena and the workspace of one rank, over all slices.
    pub fn peak_bytes(&mut self, schedule: &Schedule) -> u64 {
        let outside = self.plan.bytes_outside(schedule.rank, self.plan.result);
        schedule.peak_bytes().saturating_add(self.bytes(schedule)).saturating_add(outside)
    }

    /// Bytes of workspace; 0 where nothing is known of the machine.
    fn bytes(&mut self, schedule: &Schedule) -> u64 {
        let Some(target) = self.plan.target else { return 0 };
        let dtype = self.plan.dtype;
        // Lanes that run side by side pack side by side.
        let mut lanes = vec![0; schedule.most_lanes()];
        for (id, task) in schedule.tasks.iter().enumerate() {
            let Some(Work::Contract { left, right, out, .. }) = task.action.work() else { continue };
            let views = [left, right, out];
            let blocks = views.map(|view| schedule.laid_out(view));
            let boxes = views.map(|view| schedule.box_of(view, &self.array(&schedule.buffers[view.buffer])));
            for tensors in [blocks, boxes] {
                let [left, right, out] = [0, 1, 2].map(|tensor: usize| tensors[tensor].layout());
                let needs = *self
                    .elements
                    .entry(key(&[left, right, out]))
                    .or_insert_with(|| plan_contract(&left, &right, &out, dtype, &target).workspace_elements());
                let lane = &mut lanes[schedule.lane(id)];
                *lane = needs.max(*lane);
            }
        }
        let elements = lanes.into_iter().fold(0usize, usize::saturating_add);
        elements.saturating_mul(dtype.size()) as u64
    }

    /// The extents of the dense array that a buffer is a box of, where the user's tensors are whole.
    fn array(&self, buffer: &Buffer) -> Vec<usize> {
        // Blocks of several boxes are put together.
        let one_box =
            |place: &BufferPlacement| place.region.dims().iter().all(|intervals| intervals.ranges().len() <= 1);
        let whole = match buffer.home {
            Home::Operand(index) => Some(self.plan.operand_shape(index)),
            Home::Output if self.plan.result == ResultResidency::Whole => Some(self.plan.output_shape()),
            Home::Output | Home::Arena | Home::Exchange => None,
        };
        whole.filter(|_| buffer.place.as_ref().is_some_and(one_box)).unwrap_or_else(|| buffer.within.clone())
    }
}
