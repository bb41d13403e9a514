//! Plans a tree: a distribution per tensor and an algorithm per contraction.
//!
//! Invariants: values come after their inputs; inputs of contractions have the distributions that algorithms require.
//! Only users, diagonals, and grids with an operand of at most one element per rank add replicas.

#![warn(missing_docs)]

mod algorithm_search_space;
mod algorithm_selection;
mod bound;
mod branches;
mod candidates;
mod classes;
mod context;
mod cost;
mod distribute;
mod error;
mod explain;
mod fixed;
mod found;
mod groups;
mod lanes;
mod layout;
mod local_seconds;
mod lockstep;
mod lower;
mod memory_fit;
mod noise;
mod options;
mod origin;
mod packing;
mod path;
mod path_report;
mod pipeline;
mod proof;
mod queries;
mod received;
mod reuse;
mod rounding;
mod simulate;
mod slice;
mod slice_group_search;
mod slice_groups;
mod slice_model;
mod slice_search;
mod spec;
mod structure;
mod up_to_names;

pub use crate::algorithm::{AlgorithmName, Objective};
pub use bound::words as lower_bound_words;
pub use error::PlanError;
pub use explain::Explain;
pub use fixed::FixedDistributions;
pub use found::{FoundOrder, SearchedTree, tree as found_tree};
pub use noise::Noise;
pub use options::{KernelChoice, PipelineChoice, PlanOptions};
pub use origin::PlanOrigin;
pub use path::UNSLICED_SHARE;
pub use path::{GivenPath, PathChoice, PathMethod, SearchLimit, SearchProgress, SearchRecord};
pub use path_report::PathReport;
pub use proof::{Classes, MAX_FULL_PROOF_RANKS, Step};
pub use structure::{Candidate, Pipeline, Plan, ResultResidency, Slice, Source, Value};

use algorithm_search_space::SearchSpace;
use candidates::SearchArguments;
use context::PlanningContext;
use slice_group_search::First;

use crate::tree::Tree;

fn planned(context: &PlanningContext) -> Result<Plan, PlanError> {
    if !context.slices.is_empty() {
        let together = memory_fit::prescribed(context)?;
        return slice_group_search::in_groups(context, together, memory_fit::prescribed);
    }
    let alone = match slice_group_search::first(context, planned_together)? {
        First::Chosen(plan) => return Ok(*plan),
        First::Possible(plan) => Some(*plan),
        First::None => None,
    };
    match (planned_on_all_ranks(context), alone) {
        (Ok(plan), Some(alone)) if !alone.beats(&plan) => Ok(plan),
        (_, Some(alone)) => Ok(alone),
        (plan, None) => plan,
    }
}

fn planned_on_all_ranks(context: &PlanningContext) -> Result<Plan, PlanError> {
    let in_groups = || slice_group_search::only_in_groups(context, planned_together);
    if memory_fit::must_slice(context)
        && let Some(plan) = in_groups()
    {
        return Ok(plan);
    }
    if let Some(plan) = memory_fit::without_limit(context)? {
        return Ok(plan);
    }
    let whole = whole(context)?;
    if slice_group_search::skips_together(context)
        && !memory_fit::fits_without_slices(context, &whole)
        && let Some(plan) = in_groups()
    {
        return Ok(plan);
    }
    slice_group_search::in_groups(context, memory_fit::fitted(context, whole)?, planned_together)
}

fn planned_together(context: &PlanningContext) -> Result<Plan, PlanError> {
    if let Some(plan) = memory_fit::without_limit(context)? {
        return Ok(plan);
    }
    memory_fit::fitted(context, whole(context)?)
}

fn whole(context: &PlanningContext) -> Result<Plan, PlanError> {
    let tree = context.arranged(context.tree);
    let plan = distributed(context, &tree, SearchArguments::new(context.options))?;
    branches::side_by_side(context, &tree, plan)
}

fn distributed(context: &PlanningContext, tree: &Tree, arguments: SearchArguments) -> Result<Plan, PlanError> {
    let space = SearchSpace::new(tree, context.machine, context.options, arguments);
    let plan = distribute::whole_tree(context, &space, &[])?;
    let plan = pipeline::pipelined(context, &space, plan)?;
    let plan = distribute::step_by_step(context, &space, plan);
    let plan = groups::grouped(context, &space, plan)?;
    Ok(reuse::lasting(plan, false))
}
