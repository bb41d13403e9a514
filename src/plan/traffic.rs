//! Computes the bytes that a rank receives in a whole run, over all slices.

use super::slice_groups;
use super::structure::Plan;
use crate::schedule::{ReuseScope, Schedule};

/// See [`Plan::bytes_received`]. `schedule` is the schedule of the rank.
pub fn bytes_received(plan: &Plan, rank: usize, schedule: &Schedule) -> Vec<u64> {
    let slices = plan.slices_of_rank(rank).len() as u64;
    let mut received = schedule.bytes_received_by_node(plan.values.len());
    for (bytes, value) in received.iter_mut().zip(&plan.values) {
        *bytes = bytes.saturating_mul(if value.lasts == ReuseScope::Slice { slices } else { 1 });
    }
    if slice_groups::has_groups(plan) {
        for operand in 0..plan.operands {
            let spread = slice_groups::spread(plan, operand).schedule(rank);
            received[slice_groups::copy_of(plan, operand)] = spread.bytes_received();
        }
        if let Some(last) = received.last_mut() {
            *last = slice_groups::combination(plan).schedule(rank).bytes_received();
        }
    }
    received
}
