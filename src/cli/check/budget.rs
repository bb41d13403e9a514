//! Memory for the check: how much there is of it beside the run, inside of the memory limit and of what this process can get.
//!
//! ```text
//! --memory-limit    [ operands, part, intermediates, packing | reserve ]     the run is planned into what the reserve leaves
//! no limit          half of what process and host have beside the run, at most [`MOST`]
//! ```
//!
//! Invariant: the plan with a check takes no more than the limit, with what `cost` counts of the check.

use einsum_dist::api::{Rank, host};
use einsum_dist::comm::launcher::launcher;
use einsum_dist::memory::OutOfMemory;
use einsum_dist::tree::Tree;
use einsum_dist::{Error, Plan, World};

use super::super::Result;
use super::cost::{Cost, Evaluation};

/// Bytes of a check, if nobody limits them.
const MOST: u64 = 1 << 29;

/// Of a limit, what a check gets.
const SHARE: u64 = 16;

/// Bytes of a check that nothing is gained by exceeding.
const ENOUGH: u64 = 1 << 26;

/// Bytes without which no check is possible: one product at a time.
pub fn least(tree: &Tree) -> u64 {
    let one: Vec<usize> = tree.extents.iter().map(|&extent| extent.min(1)).collect();
    let bytes = |evaluation| Cost::of(tree, evaluation, &one).bytes;
    bytes(Evaluation::Directly).min(bytes(Evaluation::AlongTree)).ceil() as u64
}

/// The plan of a run that leaves room for its check inside of a limit, if there is one, and how many bytes that has. `plan` makes the
/// one for a limit.
///
/// # Errors
/// There is no plan, or none with a check.
pub fn plan_beside(
    tree: &Tree,
    limit: Option<u64>,
    plan: impl Fn(Option<u64>) -> einsum_dist::Result<Plan>,
) -> Result<(Plan, u64)> {
    let Some(limit) = limit else { return Ok((plan(None)?, MOST)) };
    let left = |plan: &Plan| {
        let peaks = plan.looked_at().into_iter().map(|rank| plan.peak_bytes(rank));
        limit.saturating_sub(peaks.max().unwrap_or(0))
    };
    let least = least(tree);
    let reserve = (limit / SHARE).clamp(least, ENOUGH.max(least));
    let whole = plan(Some(limit))?;
    if left(&whole) >= reserve {
        let bytes = left(&whole).min(MOST);
        return Ok((whole, bytes));
    }
    // The run in less memory, or else the check.
    let smaller = limit.checked_sub(reserve).and_then(|less| plan(Some(less)).ok());
    let smallest = || limit.checked_sub(least).and_then(|less| plan(Some(less)).ok());
    let chosen = match smaller {
        Some(smaller) => smaller,
        None if left(&whole) >= least => whole,
        None => smallest().ok_or_else(|| {
            let needed = limit - left(&whole) + least;
            Error::Usage(format!(
                "the run and --check need {needed} bytes, {} more than the memory limit of {limit}: the run {}, the check {least}",
                needed - limit,
                limit - left(&whole)
            ))
        })?,
    };
    let bytes = left(&chosen).min(MOST);
    Ok((chosen, bytes))
}

/// How many of these bytes the check gets here: not more than half of what processes and hosts have beside the run. Collective, before
/// the run allocates.
///
/// # Errors
/// There are too few.
pub fn here(world: &World, plan: &Plan, tree: &Tree, bytes: u64) -> Result<u64> {
    world.check_memory(plan, least(tree))?;
    Ok(bytes.min(world.spare_memory(plan)? / 2).max(least(tree)))
}

/// With the rank that could not have its memory.
///
/// # Errors
/// The one that is given.
pub fn memory<V>(had: std::result::Result<V, OutOfMemory>) -> Result<V> {
    let rank = || Rank { number: launcher().map_or(0, |launcher| launcher.rank), host: host::name() };
    Ok(had.map_err(|cause| Error::Memory { rank: rank(), cause })?)
}
