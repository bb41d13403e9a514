//! Defines the limits that can end a path search early.

use serde::{Deserialize, Serialize};

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
