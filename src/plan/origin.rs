//! Stores what a plan was made from and a later run may find otherwise: the contraction orders with their slices, whose
//! search may depend on measured speeds, and the measured rates of the machine.
//!
//! Invariant: the same expression, extents, options, processors and program make the same plan from an origin.

use serde::{Deserialize, Serialize};

use super::options::PlanOptions;
use super::path::{PathMethod, SearchRecord};
use super::queries::SearchedTree;
use crate::dims::Label;
use crate::machine::Machine;
use crate::tree::{Einsums, Order, Tree};

/// The orders and rates that a plan was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOrigin {
    /// What the orders were searched for.
    request: String,
    /// For each einsum of the expression.
    orders: Vec<Order>,
    sliced: Vec<Label>,
    /// In TOML, because numbers are then read exactly as they were written.
    machine: String,
}

impl PlanOrigin {
    /// The origin of plans for a tree that was just searched.
    pub fn new(
        expression: (&str, &Einsums),
        machine: &Machine,
        options: &PlanOptions,
        searched: &SearchedTree,
    ) -> PlanOrigin {
        PlanOrigin {
            request: request(expression, machine, options),
            orders: searched.orders.clone(),
            sliced: searched.tree.sliced.clone(),
            machine: machine.to_toml(),
        }
    }

    /// Returns the tree and the machine of this origin; `None` if it belongs to another expression, other extents, another
    /// element type, another choice of the path, or another number of ranks or workers.
    pub fn found(
        &self,
        expression: (&str, &Einsums),
        machine: &Machine,
        options: &PlanOptions,
    ) -> Option<(SearchedTree, Machine)> {
        if self.request != request(expression, machine, options) {
            return None;
        }
        let machine = Machine::from_toml(&self.machine).ok()?;
        let mut orders = self.orders.iter();
        let mut next = |tensors| orders.next().filter(|order| is_order(order, tensors)).cloned();
        let mut tree = Tree::new(expression.1, |network| next(network.tensors.len()).ok_or(())).ok()?;
        tree.sliced.clone_from(&self.sliced);
        let record = SearchRecord { method: PathMethod::Checkpoint, seconds: 0.0, found_at: 0.0 };
        let known = self.sliced.iter().all(|label| (label.0 as usize) < tree.extents.len());
        let orders = self.orders.clone();
        known.then(|| (SearchedTree { tree, limits: Vec::new(), records: vec![record], orders }, machine))
    }
}

fn request((expression, einsums): (&str, &Einsums), machine: &Machine, options: &PlanOptions) -> String {
    let (Machine { ranks, workers, .. }, PlanOptions { dtype, path, .. }) = (machine, options);
    format!("{expression} {:?} {dtype} {path:?} {ranks} x {workers}", einsums.extents)
}

/// Whether an order contracts this number of tensors into one.
fn is_order(order: &Order, tensors: usize) -> bool {
    let mut left = vec![true; tensors + order.len()];
    let valid = order.iter().enumerate().all(|(step, group)| {
        let mut each = group.iter().map(|&number| number < tensors + step && std::mem::take(&mut left[number]));
        !group.is_empty() && each.all(|was_left| was_left)
    });
    valid && left.iter().filter(|&&is_left| is_left).count() == 1
}

#[cfg(test)]
mod tests;
