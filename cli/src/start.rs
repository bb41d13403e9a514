//! Creates a run's world (its ranks), from the flags and the launcher.
//!
//! MPI is initialised first, because ranks communicate to agree on an error. For tests, the environment variable
//! `EINSUM_DIST_INJECT` injects faults.

use std::time::Duration;

use einsum_dist::api::host;
use einsum_dist::comm::Transport;
use einsum_dist::comm::launcher::launcher;
use einsum_dist::exec::{Injection, RunOptions};
use einsum_dist::machine::{self, MAX_RANKS as MAX_PLANNED_RANKS};
use einsum_dist::{Error, World};

use super::args::Args;
use super::failure::Failure;
use super::{Result, units};

type Arguments = std::result::Result<Args, clap::Error>;

/// More ranks in a process or threads per rank are assumed to be a mistake.
const MAX_RANKS: usize = 4096;

pub const MAX_WORKERS: usize = 4096;

/// Whether this process prints errors before the world exists.
pub fn prints_errors() -> bool {
    launcher().is_none_or(|launcher| launcher.rank == 0)
}

/// Joins mpirun's world, or creates one in this process.
///
/// # Errors
/// If the world cannot be joined or created, on every process.
pub fn world(arguments: Arguments) -> Result<(World, Arguments)> {
    let (world, inject) = match (launcher(), &arguments) {
        (Some(_), Ok(args)) => (under_mpirun(&args.transport)?, true),
        (Some(_), Err(_)) => (under_mpirun("message")?, true),
        (None, Ok(args)) => (in_process(args)?, true),
        (None, Err(_)) => (World::single(), false),
    };
    let injection = std::env::var("EINSUM_DIST_INJECT").ok().filter(|_| inject);
    let injection = injection.map(|text| text.parse()).transpose();
    let here = |injection: Option<Injection>| match injection {
        Some(Injection { rank, .. }) if rank >= world.ranks() => {
            Err(format!("there is no rank {rank} of {}", units::counted(world.ranks(), "rank")))
        }
        injection => Ok(injection),
    };
    let injection = injection.and_then(here).map_err(|error| usage(format!("EINSUM_DIST_INJECT: {error}")));
    let injection = agree(&world, injection)?;
    let overlap = !arguments.as_ref().is_ok_and(|args| args.no_overlap);
    let timeout = arguments.as_ref().ok().and_then(|args| args.timeout).map(Duration::from_secs_f64);
    Ok((world.with(RunOptions { overlap, timeout, injection, ..RunOptions::default() }), arguments))
}

#[cfg(feature = "mpi")]
fn under_mpirun(transport: &str) -> Result<World> {
    // All ranks refuse invalid transports later.
    Ok(World::mpi_by(transport.parse().unwrap_or(Transport::Message))?)
}

#[cfg(not(feature = "mpi"))]
fn under_mpirun(_transport: &str) -> Result<World> {
    let starter = launcher().map(|launcher| launcher.kind.to_string()).unwrap_or_default();
    Err(usage(format!(
        "started by {starter}, but built without MPI: every process would do the whole work alone; build with \
         `--features full`, or use --ranks N without mpirun"
    )))
}

fn in_process(args: &Args) -> Result<World> {
    let ranks = match (args.ranks, &args.machine) {
        (Some(ranks), _) => ranks.into(),
        // A plan for the file's machine does not run here.
        (None, Some(_)) => 1,
        (None, None) if args.scaling.is_some() => 1,
        (None, None) => host::allowed()?.ranks_within(host::processors()),
    };
    let world = match transport(&args.transport)? {
        Link::Throttled(bytes_per_second) => World::throttled(ranks, bytes_per_second),
        Link::Transport(Transport::Message | Transport::Rma) => {
            return Err(usage(format!(
                "--transport {} is for ranks that mpirun started; within a process it is shared",
                args.transport
            )));
        }
        Link::Transport(_) if ranks == 1 => World::single(),
        Link::Transport(_) => World::in_process(ranks),
    };
    if ranks > MAX_PLANNED_RANKS {
        return Err(usage(format!(
            "--ranks {ranks} are more than the {MAX_PLANNED_RANKS} that plans are made for, and the {MAX_RANKS} that run in one process"
        )));
    }
    if ranks > MAX_RANKS && !args.explains() {
        return Err(usage(format!(
            "--ranks {ranks} are more than the {MAX_RANKS} that run in one process; --explain plans for up to {MAX_PLANNED_RANKS}"
        )));
    }
    Ok(world)
}

/// Refuses too many workers, and contradictions among flags or with mpirun.
pub fn check_flags(args: &Args) -> Result<()> {
    if let Some(workers) = args.workers {
        let (most, what) = if args.explains() {
            (machine::MAX_WORKERS, "workers that plans are made for")
        } else {
            (MAX_WORKERS, "threads that a rank may have")
        };
        if workers.get() > most {
            return Err(usage(format!("--workers {workers} are more than the {most} {what}")));
        }
    }
    if let Some(groups) = args.slice_groups.filter(|groups| groups.get() > MAX_PLANNED_RANKS) {
        let most = MAX_PLANNED_RANKS;
        return Err(usage(format!("--slice-groups {groups} are more than the {most} ranks that plans are made for")));
    }
    if args.expression.as_deref() == Some("machine")
        && args.operands.first().is_some_and(|it| it.as_os_str() == "probe")
    {
        return Err(usage("`machine probe` comes before all options"));
    }
    if args.machine.is_some() && !args.explains() {
        return Err(usage(
            "--machine describes another machine than this one: it needs --explain, --simulate or --scaling",
        ));
    }
    if args.noise.is_some() && !args.simulate && args.scaling.is_none() {
        return Err(usage("--noise delays simulated tasks: it needs --simulate or --scaling"));
    }
    if (args.trace.is_some() || args.timeline.is_some()) && args.explain && !args.simulate {
        return Err(usage("--trace and --timeline show a run; what --explain does not run, --simulate plays"));
    }
    if args.checkpoint.is_some() && (args.repeat.get() > 1 || args.warmup > 0) {
        return Err(usage("--checkpoint is for a single run: leave --repeat and --warmup out"));
    }
    let Some(launcher) = launcher() else { return Ok(()) };
    if args.scaling.is_some() {
        return Err(usage("--scaling simulates other numbers of ranks in one process: leave mpirun out"));
    }
    if args.ranks.is_some() {
        return Err(usage(format!(
            "--ranks is for ranks inside one process; {} says how many there are",
            launcher.kind
        )));
    }
    match transport(&args.transport)? {
        Link::Transport(_) => Ok(()),
        Link::Throttled(_) => Err(usage("--transport throttled is for ranks inside one process")),
    }
}

/// A transport between ranks, or its rate limit in bytes per second.
pub enum Link {
    Transport(Transport),
    Throttled(f64),
}

/// # Errors
/// If the transport is unknown, or if `throttled` has no valid rate.
pub fn transport(text: &str) -> Result<Link> {
    if let Ok(transport) = text.parse() {
        return Ok(Link::Transport(transport));
    }
    match text.split_once(':') {
        Some(("throttled", rate)) => match units::parse_bytes(rate) {
            Err(why) => Err(usage(format!("--transport throttled:BYTES_PER_SECOND: {why}"))),
            Ok(0) => Err(usage("--transport throttled:0 would never end")),
            Ok(rate) => Ok(Link::Throttled(rate as f64)),
        },
        None if text == "throttled" => {
            Err(usage("--transport throttled needs its rate: throttled:BYTES_PER_SECOND, such as throttled:1e9"))
        }
        _ => Err(usage(format!(
            "--transport: unknown transport `{text}` (known: auto, shared, message, rma, throttled:BYTES_PER_SECOND)"
        ))),
    }
}

/// All ranks return an error if any has failed, also in this crate, unlike `World::agree`. Collective.
///
/// # Errors
/// If any rank has failed: its own failure, or else the first of another.
pub fn agree<V>(world: &World, mine: Result<V>) -> Result<V> {
    let outcome = match &mine {
        Ok(_) => Ok(()),
        Err(failure) => Err(Error::Usage(failure.message())),
    };
    let agreed = world.agree(outcome);
    let value = mine?;
    agreed?;
    Ok(value)
}

/// A user error without a place in the expression.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Library(Error::Usage(message.into()))
}

/// Gathers unrounded numbers from all processes, in order. Collective.
pub fn gather(world: &World, mine: &[f64]) -> Result<Vec<Vec<f64>>> {
    let bytes: Vec<u8> = mine.iter().flat_map(|number| number.to_le_bytes()).collect();
    let numbers = |bytes: &Vec<u8>| bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    Ok(world.all_gather(&bytes)?.iter().map(numbers).collect())
}
