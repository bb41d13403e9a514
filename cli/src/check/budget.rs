//! Chooses the memory budget for `--check`, which shares the limit and the available memory with the run
//! (`docs/check.md`).
//!
//! Guarantee: both stay within the limit together.

use einsum_dist::tree::Tree;
use einsum_dist::{Error, Plan, World};

use super::super::Result;
use super::cost::{Cost, Evaluation};
use super::limits::Limits;
use super::strategy::Choice;

const MAX_BYTES: u64 = 1 << 29;

/// The limit divided by this is reserved, then by `SLOW_LIMIT_DIVISORS` in turn until the check is quick.
const LIMIT_DIVISOR: u64 = 16;
const SLOW_LIMIT_DIVISORS: [u64; 3] = [8, 4, 2];

/// Maximum operations of a quick check, which takes seconds.
const MAX_QUICK_OPERATIONS: f64 = 1e10;

/// Maximum reserved bytes, unless a check needs more.
const SUFFICIENT_BYTES: u64 = 1 << 26;

pub fn least(tree: &Tree) -> u64 {
    let one: Vec<usize> = tree.extents.iter().map(|&extent| extent.min(1)).collect();
    let bytes = |evaluation| Cost::of(tree, evaluation, &one).bytes;
    bytes(Evaluation::Directly).min(bytes(Evaluation::AlongTree)).ceil() as u64
}

/// The run's plan, by `plan` for a memory limit, and its check's bytes.
///
/// # Errors
/// If no plan within the limit leaves enough memory for a check.
pub fn plan_beside(
    tree: &Tree,
    limit: Option<u64>,
    plan: impl Fn(Option<u64>) -> einsum_dist::Result<Plan>,
) -> Result<(Plan, u64)> {
    let Some(limit) = limit else { return Ok((plan(None)?, MAX_BYTES)) };
    let left = |plan: &Plan| {
        let peaks = plan.sampled_ranks().into_iter().map(|rank| plan.peak_bytes(rank));
        limit.saturating_sub(peaks.max().unwrap_or(0))
    };
    let least = least(tree);
    let reserve = |share: u64| (limit / share).clamp(least, SUFFICIENT_BYTES.max(least));
    let mut chosen = plan(Some(limit))?;
    let smaller = |reserve: u64| limit.checked_sub(reserve).and_then(|less| plan(Some(less)).ok());
    if left(&chosen) < reserve(LIMIT_DIVISOR) {
        chosen = match smaller(reserve(LIMIT_DIVISOR)) {
            Some(smaller) => smaller,
            None if left(&chosen) >= least => chosen,
            None => smaller(least).ok_or_else(|| {
                let needed = limit - left(&chosen) + least;
                Error::Usage(format!(
                    "the run and --check need {needed} bytes, {} more than the memory limit of {limit}: the run {}, the check {least}",
                    needed - limit,
                    limit - left(&chosen)
                ))
            })?,
        };
    }
    let is_slow = |plan: &Plan| {
        let limits = Limits::new(plan, tree);
        // For one thread, because ranks with different threads must make the same plan.
        let strategy = Choice::new(plan, tree, &limits, left(plan).min(MAX_BYTES), 1, 0).strategy();
        strategy.is_none_or(|strategy| strategy.operations > MAX_QUICK_OPERATIONS)
    };
    for share in SLOW_LIMIT_DIVISORS {
        if !is_slow(&chosen) {
            break;
        }
        if left(&chosen) >= reserve(share) {
            continue;
        }
        match smaller(reserve(share)) {
            Some(smaller) => chosen = smaller,
            None => break,
        }
    }
    let bytes = left(&chosen).min(MAX_BYTES);
    Ok((chosen, bytes))
}

/// The check's bytes in this world: at most `bytes` and half of what the run leaves free, but at least [`least`].
/// Collective. Must precede the run's allocations.
///
/// # Errors
/// If there is too little memory for the run and the smallest check.
pub fn here(world: &World, plan: &Plan, tree: &Tree, bytes: u64) -> Result<u64> {
    world.check_memory(plan, least(tree))?;
    Ok(bytes.min(world.spare_memory(plan)? / 2).max(least(tree)))
}

#[cfg(test)]
mod tests;
