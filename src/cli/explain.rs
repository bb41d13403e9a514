//! `--explain`: the plan and its proof, for any number of ranks; no data.

use einsum_dist::World;
use einsum_dist::schedule::verify;

use super::Result;
use super::config::RunConfig;
use super::print::json;
use super::units::counted;

/// Up to this many ranks, the schedules of all of them are proved together.
const ALL: usize = 256;

/// Beyond, so many ranks are looked at, spread evenly.
const SOME: usize = 16;

/// Verifies the plan and says what it is, where rank 0 lives.
///
/// # Errors
/// The plan does not verify: a bug of the engine.
pub fn explain(world: &World, config: &RunConfig) -> Result<Option<String>> {
    let plan = &config.plan;
    let ranks = plan.ranks();
    let verified = if ranks <= ALL {
        plan.verify()?;
        format!("every element of the result, the transfers and the memory of {}", counted(ranks, "rank"))
    } else {
        let facts = plan.facts();
        for place in 0..SOME {
            verify::own(plan.schedule(place * (ranks - 1) / (SOME - 1)), &facts)?;
        }
        format!(
            "bounds and hazards of {SOME} of {ranks} ranks; not the transfers between ranks, which are proved up to {ALL}"
        )
    };
    if !world.is_root() {
        return Ok(None);
    }
    if config.json {
        return Ok(Some(json(world, config, None)));
    }
    let default = if config.default_sizes { "\nextents are the default; --size sets them" } else { "" };
    Ok(Some(format!("{}\nverified: {verified}{default}\n", plan.explain())))
}
