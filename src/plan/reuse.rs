//! Decides which steps later slices and runs skip because no input has changed.
//!
//! | a value stays valid for | if every operand that it depends on |
//! |---|---|
//! | all runs | is constant and not sliced |
//! | all slices of a run | has no sliced dimension |
//! | one slice | otherwise |
//!
//! Invariant: the result, and the value that `alpha` scales, are always recomputed. The caller promises that constant
//! operands do not change.

use super::structure::{Plan, Source, Value};
use crate::schedule::ReuseScope;

/// Sets how long values stay valid and occupy memory. `between_slices` also keeps them for all slices of a run.
pub fn lasting(mut plan: Plan, between_slices: bool) -> Plan {
    let result = plan.unmoved(plan.values.len() - 1);
    for id in 0..plan.values.len() {
        let value = &plan.values[id];
        let lasts = match value.source {
            Source::Operand(index) => operand_lasts(&plan, value, index, between_slices && !plan.slices.is_empty()),
            _ if plan.unmoved(id) == result => ReuseScope::Slice,
            // Successive batches use the same memory.
            _ if plan.pipeline.as_ref().is_some_and(|pipeline| value.labels.contains(&pipeline.label)) => {
                ReuseScope::Slice
            }
            Source::Contract { left, right, .. } => plan.values[left].lasts.min(plan.values[right].lasts),
            Source::Unary { input, .. } | Source::Redistribute { input } => plan.values[input].lasts,
        };
        plan.values[id].lasts = lasts;
    }
    plan
}

/// `keeps` also keeps the operand for all slices of a run.
pub fn operand_lasts(plan: &Plan, value: &Value, operand: usize, keeps: bool) -> ReuseScope {
    let is_sliced = value.labels.iter().any(|label| plan.slices.iter().any(|slice| slice.label == *label));
    match (is_sliced, plan.constant.contains(&operand)) {
        (false, true) => ReuseScope::Program,
        (false, false) if keeps => ReuseScope::Run,
        _ => ReuseScope::Slice,
    }
}
