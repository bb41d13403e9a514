//! Computes the bytes that a rank receives in a whole run, over all slices.

use super::slice_groups::Between;
use super::structure::Plan;
use crate::schedule::{ReuseScope, Schedule};

/// Computes the bytes for the ranks of one plan.
pub struct Traffic<'a> {
    plan: &'a Plan,
    between: Between,
}

impl Traffic<'_> {
    pub fn new(plan: &Plan) -> Traffic<'_> {
        Traffic { plan, between: Between::of(plan) }
    }

    /// See [`Plan::bytes_received`]. `schedule` is the schedule of the rank.
    pub fn bytes_received(&self, schedule: &Schedule) -> Vec<u64> {
        let Traffic { plan, between } = self;
        let rank = schedule.rank;
        let slices = plan.slices_of_rank(rank).len() as u64;
        let mut received = schedule.bytes_received_by_node(plan.values.len());
        for (bytes, value) in received.iter_mut().zip(&plan.values) {
            *bytes = bytes.saturating_mul(if value.lasts == ReuseScope::Slice { slices } else { 1 });
        }
        for (spread, operands) in &between.spreads {
            let bytes = spread.schedule(rank).bytes_received();
            operands.iter().for_each(|&operand| received[plan.copy_of(operand)] = bytes);
        }
        if let (Some(combination), Some(last)) = (&between.combination, received.last_mut()) {
            *last = combination.schedule(rank).bytes_received();
        }
        received
    }
}
