//! Chooses the memory budget for `--check`. The check and the run share the memory limit and the memory that is
//! available to this process.
//!
//! ```text
//! --memory-limit   [ operands, part, intermediates, packing | reserve ]    the run is planned without the reserve
//! no limit         half of the memory that the run leaves free in the process and on the host, at most MAX_BYTES
//! ```
//!
//! Guarantee: a run and its check together stay within the limit. `cost` estimates the memory of the check.

use einsum_dist::tree::Tree;
use einsum_dist::{Error, Plan, World};

use super::super::Result;
use super::cost::{Cost, Evaluation};
use super::limits::Limits;
use super::strategy::Choice;

/// Maximum number of bytes that a check may use, with or without a memory limit.
const MAX_BYTES: u64 = 1 << 29;

/// The memory limit divided by one of these numbers is the number of bytes reserved for the check. `LIMIT_DIVISOR` is
/// tried first. If the check would be slow, `SLOW_LIMIT_DIVISORS` are tried in order until it is quick.
const LIMIT_DIVISOR: u64 = 16;
const SLOW_LIMIT_DIVISORS: [u64; 3] = [8, 4, 2];

/// Maximum number of operations of a quick check, which takes seconds. A check with more operations is slow.
const MAX_QUICK_OPERATIONS: f64 = 1e10;

/// Maximum number of bytes that a memory limit reserves for a check, unless the check needs more.
const SUFFICIENT_BYTES: u64 = 1 << 26;

/// Returns the minimum number of bytes that a check needs. With this much memory, the check computes one product at a
/// time.
pub fn least(tree: &Tree) -> u64 {
    let one: Vec<usize> = tree.extents.iter().map(|&extent| extent.min(1)).collect();
    let bytes = |evaluation| Cost::of(tree, evaluation, &one).bytes;
    bytes(Evaluation::Directly).min(bytes(Evaluation::AlongTree)).ceil() as u64
}

/// Returns the plan for the run and the number of bytes available to its check. If there is a limit, the run and the
/// check together stay within it. `plan` plans the run for a given memory limit.
///
/// # Errors
/// If there is no plan within the limit, or none that leaves enough memory for a check.
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
    // Plan the run with less memory. If that is impossible, give less memory to the check.
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
    // A slow check is given more memory if the run can be planned with less.
    let is_slow = |plan: &Plan| {
        let limits = Limits::new(plan, tree);
        // The number of threads may differ between ranks, but all ranks must make the same plan. So the cost is
        // estimated for one thread.
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

/// Returns the number of bytes available to the check in this world. This is the smaller of `bytes` and half of the
/// memory that the run leaves free in processes and on hosts, but at least [`least`]. Collective. Must be called before
/// the run allocates.
///
/// # Errors
/// If there is too little memory for the run and the smallest check.
pub fn here(world: &World, plan: &Plan, tree: &Tree, bytes: u64) -> Result<u64> {
    world.check_memory(plan, least(tree))?;
    Ok(bytes.min(world.spare_memory(plan)? / 2).max(least(tree)))
}

#[cfg(test)]
mod tests;
