//! What a plan was made from and a later run may find otherwise: orders with slices, the memory limit, which may depend
//! on the free memory, the number of runs, and the machine's measured rates.
//!
//! Invariant: with the same expression, extents, options, processors and program, an origin gives the same plan.

use serde::{Deserialize, Serialize};

use super::found::{FoundOrder, SearchedTree};
use super::options::PlanOptions;
use super::path::{PathMethod, SearchRecord};
use crate::algorithm::Objective;
use crate::machine::Machine;
use crate::tree::Einsums;

/// What a plan was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanOrigin {
    request: String,
    found: FoundOrder,
    memory_limit: Option<u64>,
    #[serde(default)]
    runs: usize,
    /// In TOML, for exact numbers.
    machine: String,
}

impl PlanOrigin {
    pub fn new(
        expression: (&str, &Einsums),
        machine: &Machine,
        options: &PlanOptions,
        searched: &SearchedTree,
    ) -> PlanOrigin {
        PlanOrigin {
            request: request(expression, machine, options),
            found: FoundOrder::of(searched, options.path_seconds),
            memory_limit: options.memory_limit,
            runs: options.runs,
            machine: machine.to_toml(),
        }
    }

    /// The tree and the machine, and options with the number of runs and, unless they have one, the memory limit;
    /// `None` if the expression, extents, element type, choice of the path, or number of ranks or workers differs.
    pub fn found(
        &self,
        expression: (&str, &Einsums),
        machine: &Machine,
        options: &PlanOptions,
    ) -> Option<(SearchedTree, Machine, PlanOptions)> {
        if self.request != request(expression, machine, options) {
            return None;
        }
        let machine = Machine::from_toml(&self.machine).ok()?;
        let SearchedTree { tree, .. } = self.found.tree(expression.1).ok()?;
        let records = vec![SearchRecord { method: PathMethod::Checkpoint, seconds: 0.0, found_at: 0.0 }];
        let options = options.clone().runs(self.runs.max(1)).memory_limit(options.memory_limit.or(self.memory_limit));
        Some((SearchedTree { tree, limits: Vec::new(), records, cached: false }, machine, options))
    }
}

fn request((expression, einsums): (&str, &Einsums), machine: &Machine, options: &PlanOptions) -> String {
    let (Machine { ranks, workers, .. }, PlanOptions { dtype, path, objective, .. }) = (machine, options);
    // Checkpoints of earlier versions name no objective.
    let objective = if *objective == Objective::Time { "" } else { objective.name() };
    format!("{expression} {:?} {dtype} {path:?} {ranks} x {workers}{objective}", einsums.extents)
}

#[cfg(test)]
mod tests;
