//! What a path search did.

use serde::{Deserialize, Serialize};

/// The origin of an order.
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
    /// Annealing, with reconfigured subtrees.
    Anneal,
    /// From the checkpoint of an interrupted run.
    Checkpoint,
}

/// A finished path search. Nominal seconds are search steps divided by those per second of a core of about 3 GHz.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// How the order was found.
    pub method: PathMethod,
    /// Nominal seconds; 0 without a budget.
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

/// A limit that ended a path search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum SearchLimit {
    /// `optimal` reached its time budget.
    #[error(
        "--path optimal: not proved optimal: stopped after {seconds} s of search over {tensors} operands; the path is the best \
         of greedy and annealed ones (--path-time SECONDS allows for more)"
    )]
    #[expect(missing_docs, reason = "fields are what messages say")]
    Seconds { seconds: f64, tensors: usize },
    /// `optimal` reached the memory limit of its table.
    #[error(
        "--path optimal: not proved optimal: {tensors} operands form more sets than the search can hold; the path is the best of \
         greedy and annealed ones"
    )]
    #[expect(missing_docs, reason = "fields are what messages say")]
    Sets { tensors: usize },
    /// `greedy` reached its time budget.
    #[error(
        "--path greedy: stopped after {seconds} s: {tried} of {of} orders of pairs that are worth the same (--path-time SECONDS \
         allows for more)"
    )]
    #[expect(missing_docs, reason = "fields are what messages say")]
    Greedy { seconds: f64, tried: u64, of: u64 },
    /// The best order exceeds the free memory ([`PlanOptions::free_memory`](crate::PlanOptions::free_memory)).
    #[error("the search for a path ended early, because the best path exceeds the free memory")]
    Memory,
}
