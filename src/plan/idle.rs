//! Counts the idle ranks of a plan.
//!
//! A rank is idle if it has no element of any tensor in the plan and no task in its schedule. Synchronisation at the
//! start and at the end of a run is not a task.

use super::structure::{Plan, Value};

/// See [`Plan::idle_ranks`].
pub fn idle_ranks(plan: &Plan) -> usize {
    let holds = |value: &Value, rank: usize| {
        let block = value.distribution.block(&plan.whole_shape(value), rank);
        block.is_some_and(|block| block.volume() > 0)
    };
    let idle =
        |rank: &usize| !plan.values.iter().any(|value| holds(value, *rank)) && plan.schedule(*rank).tasks.is_empty();
    (0..plan.ranks()).filter(idle).count()
}
