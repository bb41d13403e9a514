//! `--explain`: the plan and its proof, for any number of ranks; no data.

use einsum_dist::World;
use einsum_dist::schedule::verify;

use super::Result;
use super::config::RunConfig;
use super::print::json;
use super::units::counted;

/// Up to this many ranks, the schedules of all of them are proved together.
const ALL: usize = 256;

/// How many of more ranks are looked at, each by itself: that takes time in the square of their number.
fn some(ranks: usize) -> usize {
    match ranks {
        0..=1024 => 16,
        1025..=4096 => 2,
        _ => 0,
    }
}

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
        let looked_at = some(ranks);
        for place in 0..looked_at {
            verify::own(plan.schedule(place * (ranks - 1) / (looked_at - 1)), &facts)?;
        }
        match looked_at {
            0 => format!("nothing; schedules are proved for up to {ALL} ranks"),
            _ => format!("bounds and hazards of {looked_at} of {ranks} ranks; transfers only for up to {ALL} ranks"),
        }
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
