//! What a pass sets for one search for algorithms, in addition to the options of the user, which are the same for all.

use super::options::PlanOptions;
use crate::dims::Label;

/// The arguments of one search.
#[derive(Debug, Clone, Copy)]
pub struct SearchArguments<'a> {
    /// The bytes of a rank that plans may use. Passes also search without the user's limit, or with a smaller one.
    pub memory: Option<u64>,
    /// Rule out algorithms that hold a whole tensor on one rank, if others apply: for plans with little memory.
    pub spread: bool,
    /// Every contraction gets the algorithm that is cheapest for it alone.
    pub step_by_step: bool,
    /// Dimensions that must not be distributed: those that are sliced or split into batches.
    pub uncut: &'a [Label],
}

impl SearchArguments<'static> {
    /// Those of the first search: what the user asks for.
    pub fn new(options: &PlanOptions) -> SearchArguments<'static> {
        let PlanOptions { memory_limit, step_by_step, .. } = *options;
        SearchArguments { memory: memory_limit, spread: false, step_by_step, uncut: &[] }
    }
}
