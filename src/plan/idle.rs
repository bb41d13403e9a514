//! Counts the idle ranks of a plan.
//!
//! A rank is idle if it has no element of any tensor and no task in its schedule. Synchronisation is not a task.

use super::slice_groups;
use super::structure::{Plan, Value};

/// See [`Plan::idle_ranks`].
pub fn idle_ranks(plan: &Plan) -> usize {
    let holds = |value: &Value, rank: usize| {
        let block = value.distribution.block(&plan.whole_shape(value), rank);
        block.is_some_and(|block| block.volume() > 0)
    };
    if slice_groups::has_groups(plan) {
        return idle_beside_groups(plan);
    }
    let idle =
        |rank: &usize| !plan.values.iter().any(|value| holds(value, *rank)) && plan.schedule(*rank).tasks.is_empty();
    (0..plan.ranks()).filter(idle).count()
}

/// Counts the ranks that are idle in their group or in no group, and have no block of the user. A rank that copies
/// operands or adds results has such a block, or is not idle in its group.
fn idle_beside_groups(plan: &Plan) -> usize {
    let of_group = slice_groups::of_group(plan);
    let group = plan.ranks_per_group();
    let holds = |value: &Value, rank: usize| {
        value.distribution.block(&value.shape, rank).is_some_and(|block| block.volume() > 0)
    };
    let is_idle = |rank: usize| {
        !of_group.values.iter().any(|value| holds(value, rank)) && of_group.schedule(rank).tasks.is_empty()
    };
    let idle: Vec<bool> = (0..group).map(is_idle).collect();
    let users = || plan.leaves.iter().map(|&leaf| &plan.values[leaf]).chain([plan.output()]);
    let is_idle = |rank: usize| plan.slice_group_of(rank).is_none_or(|number| idle[rank - number * group]);
    (0..plan.ranks()).filter(|&rank| is_idle(rank) && !users().any(|value| holds(value, rank))).count()
}
