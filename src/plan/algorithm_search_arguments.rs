//! Defines the arguments of one search, which selects algorithms for a tree.

use super::options::PlanOptions;
use crate::dims::Label;

/// The arguments of one search.
#[derive(Debug, Clone, Copy)]
pub struct SearchArguments<'a> {
    /// The number of bytes that plans may use on each rank; `None` if unlimited. Some passes search without the user's
    /// limit, or with a smaller limit.
    pub memory: Option<u64>,
    /// If true, algorithms that need a whole tensor on one rank are excluded, unless no other algorithm applies. Set if
    /// the fastest plan exceeds the memory limit.
    pub spread: bool,
    /// If true, every contraction has the algorithm that is cheapest for that contraction alone.
    pub step_by_step: bool,
    /// Dimensions that must not be distributed, because they are sliced or split into batches.
    pub uncut: &'a [Label],
}

impl SearchArguments<'static> {
    /// The arguments of the first search, taken from the user's options.
    pub fn new(options: &PlanOptions) -> SearchArguments<'static> {
        let PlanOptions { memory_limit, step_by_step, .. } = *options;
        SearchArguments { memory: memory_limit, spread: false, step_by_step, uncut: &[] }
    }
}
