//! Defines the arguments of one search for the algorithms of a tree.

use super::options::PlanOptions;
use crate::dims::Label;

#[derive(Debug, Clone, Copy)]
pub struct SearchArguments<'a> {
    /// Maximum bytes of a plan on each rank; `None` if unlimited. Some passes search with another limit than the
    /// user's.
    pub memory: Option<u64>,
    /// Excludes algorithms that need a whole tensor on one rank, unless no other applies. Set if the fastest plan
    /// exceeds the memory limit.
    pub spread: bool,
    /// Selects the algorithm that is cheapest for each contraction alone.
    pub step_by_step: bool,
    /// Dimensions that must not be distributed, because they are sliced or split into batches.
    pub uncut: &'a [Label],
}

impl SearchArguments<'static> {
    pub fn new(options: &PlanOptions) -> SearchArguments<'static> {
        let PlanOptions { memory_limit, step_by_step, .. } = *options;
        SearchArguments { memory: memory_limit, spread: false, step_by_step, uncut: &[] }
    }
}
