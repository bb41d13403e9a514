//! Fits plans into the memory of the machine.
//!
//! Invariant: a plan that fits without slices is the same as for a machine of unknown memory.

use super::error::PlanError;
use super::options::PlanOptions;
use super::packing::Packing;
use super::structure::Plan;
use crate::machine::Machine;
use crate::tree::Tree;

/// A rank needs at most this many times the bytes of all tensors, and these for each worker.
const MOST_COPIES: f64 = 4.0;
const MOST_PACKED: f64 = 1e8;

/// Calls `plan` without a memory limit and, if the machine has too little memory for that plan, with one.
///
/// # Errors
/// Those without a limit.
pub fn within(
    tree: &Tree,
    machine: &Machine,
    options: &PlanOptions,
    plan: impl Fn(&PlanOptions) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    let (None, Some(memory), Some(limit)) = (options.memory_limit, machine.memory, machine.memory_limit()) else {
        return plan(options);
    };
    let limited =
        PlanOptions { memory_limit: Some(limit), in_parts: false, operands_in_parts: false, ..options.clone() };
    // The search has only chosen slices if no plan without slices fits.
    if !tree.sliced.is_empty()
        && let Ok(sliced) = plan(&limited)
    {
        return Ok(sliced);
    }
    let whole = plan(options)?;
    let sizes = tree.nodes.iter().map(|node| tree.shape(&node.labels).iter().map(|&n| n as f64).product::<f64>());
    let bytes = options.dtype.size() as f64 * sizes.sum::<f64>();
    if MOST_COPIES * bytes + MOST_PACKED * machine.workers as f64 <= memory as f64 {
        return Ok(whole);
    }
    let mut packing = Packing::new(&whole);
    let ranks = whole.sampled_ranks();
    let peaks = ranks.iter().map(|&rank| packing.peak_bytes(&whole.schedule(rank)) as f64);
    let fits = peaks.sum::<f64>() <= memory as f64 * ranks.len() as f64;
    if fits || !tree.sliced.is_empty() || whole.max_user_bytes().1 > limit {
        return Ok(whole);
    }
    Ok(plan(&limited).unwrap_or(whole))
}
