//! Records what a path search did.

use serde::{Deserialize, Serialize};

/// How a contraction order was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathMethod {
    /// The order as written.
    LeftToRight,
    /// Prescribed by the user.
    Explicit,
    /// A greedy search.
    Greedy,
    /// Dynamic programming over sets of tensors, which proved the order optimal.
    Optimal,
    /// Annealing from greedy orders and recursive bisection, with reconfigured subtrees.
    Anneal,
    /// From the checkpoint of an interrupted run.
    Checkpoint,
}

/// What a path search did. Nominal seconds are search steps divided by the steps per second of a core of about 3 GHz.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// How the order was found.
    pub method: PathMethod,
    /// Nominal seconds of the search; 0 for searches without a budget.
    pub seconds: f64,
    /// Nominal seconds until the order was found.
    pub found_at: f64,
}

/// The state of a running search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchProgress {
    /// The budget in seconds, given the best order so far.
    pub seconds: f64,
    /// log2 of the multiply-adds in the best order so far, over all slices.
    pub log2_products: f64,
    /// log2 of the elements of its largest intermediate in one slice.
    pub log2_largest: f64,
}
