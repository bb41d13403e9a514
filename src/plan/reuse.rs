//! Decides which steps a later slice or a later run can skip, because none of their inputs has changed.
//!
//! | a value lasts | if every operand that it depends on |
//! |---|---|
//! | all runs | is constant and not sliced |
//! | all slices of a run | lacks the sliced dimensions |
//! | one slice | - |
//!
//! Invariant: the result, and the value that alpha scales, are always recomputed. Deliberately absent: detecting that
//! an operand has not changed; the caller promises it.

use super::{Plan, Source};
use crate::schedule::ReuseScope;

impl Plan {
    /// Sets how long each value lasts. Values that outlast a slice occupy memory for as long; `between_slices` says
    /// whether to keep values that outlast only slices and not runs.
    pub(super) fn lasting(mut self, between_slices: bool) -> Plan {
        let result = self.unmoved(self.values.len() - 1);
        for id in 0..self.values.len() {
            let value = &self.values[id];
            let lasts = match value.source {
                Source::Operand(index) => {
                    let sliced = value.labels.iter().any(|label| self.slices.iter().any(|slice| slice.label == *label));
                    match (sliced, self.constant.contains(&index)) {
                        (true, _) => ReuseScope::Slice,
                        (false, true) => ReuseScope::Program,
                        (false, false) if between_slices && !self.slices.is_empty() => ReuseScope::Run,
                        (false, false) => ReuseScope::Slice,
                    }
                }
                _ if self.unmoved(id) == result => ReuseScope::Slice,
                // Successive batches reuse the same memory.
                _ if self.pipeline.as_ref().is_some_and(|pipeline| value.labels.contains(&pipeline.label)) => {
                    ReuseScope::Slice
                }
                Source::Contract { left, right, .. } => self.values[left].lasts.min(self.values[right].lasts),
                Source::Unary { input, .. } | Source::Redistribute { input } => self.values[input].lasts,
            };
            self.values[id].lasts = lasts;
        }
        self
    }

    /// The value before its redistributions.
    pub(super) fn unmoved(&self, mut id: usize) -> usize {
        while let Source::Redistribute { input } = self.values[id].source {
            id = input;
        }
        id
    }
}
