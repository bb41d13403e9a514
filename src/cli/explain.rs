//! `--explain`: the plan and its proof, for any number of ranks; no data.

use einsum_dist::World;
use einsum_dist::schedule::verify;

use super::Result;
use super::config::RunConfig;
use super::print::json;
use super::units::counted;

/// Verifies the plan and says what it is, where rank 0 lives.
///
/// # Errors
/// The plan does not verify: a bug of the engine.
pub fn explain(world: &World, config: &RunConfig) -> Result<Option<String>> {
    let plan = &config.plan;
    let ranks = plan.ranks();
    let looked_at = plan.looked_at();
    let verified = if looked_at.len() == ranks {
        plan.verify()?;
        format!("every element of the result, the transfers and the memory of {}", counted(ranks, "rank"))
    } else {
        let facts = plan.facts();
        for &rank in &looked_at {
            verify::own(plan.schedule(rank), &facts)?;
        }
        format!("bounds and hazards of {} of {ranks} ranks; transfers only where ranks are fewer", looked_at.len())
    };
    if !world.is_root() {
        return Ok(None);
    }
    if config.json {
        return Ok(Some(json(world, config, None)));
    }
    let default = if config.default_sizes { "\nextents are the default; --size sets them" } else { "" };
    let kernel = config.kernel();
    Ok(Some(format!("{}\nkernel    {kernel} on this machine\nverified: {verified}{default}\n", plan.explain())))
}
