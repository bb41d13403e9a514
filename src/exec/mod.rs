//! Runs the verified schedule of one rank (`docs/transports.md`).
//!
//! The communication thread (the caller) starts transfers and work tasks whose edges allow it, and polls the transport;
//! workers (a rayon pool) never wait for data.

mod fault;
mod inline;
mod job;
mod kernel_selection;
mod kernels;
mod lanes;
mod metrics;
mod plan_cache;
mod program;
mod rank;

pub use fault::{Delays, Fault, Injection, RunError, panic_message};
pub use kernel_selection::{KernelError, ResolvedKernel};
pub use metrics::{Metrics, Moved, TaskMetric};
pub use plan_cache::kernel_name;
pub use program::RankProgram;

use std::time::Duration;

use num_complex::Complex;

use crate::comm::Endpoint;
use crate::kernel::Element;
use crate::memory::Slot;
use crate::schedule::{BufferId, Lane};
use crate::sync::ThreadPool;

/// Measures work or transfers alone; other tasks complete with their dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// Only work tasks run: no bytes move, and no rank waits for a peer.
    Work,
    /// Only transfers run.
    Transfers,
}

/// Options of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Whether transfers run while workers compute, not alternating in program order.
    pub overlap: bool,
    /// If set, equally on every rank, only work or transfers run, and the result is meaningless.
    pub only: Option<Only>,
    /// Maximum number of transfers in flight per lane, at least 1.
    pub window: usize,
    /// The run fails if no bytes move for this time while this rank only waits for transfers; between runs, processes
    /// also wait at most this long for each other. It must exceed the time to transfer a gigabyte, and the longest
    /// silence of any other rank, which may compute several tasks in a row or access files. A silent rank in this
    /// process cannot be killed, so the run fails only when it returns.
    pub timeout: Option<Duration>,
    /// A fault to inject, for tests.
    pub injection: Option<Injection>,
    /// Pauses to inject, for tests.
    pub delays: Option<Delays>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions { overlap: true, only: None, window: 4, timeout: None, injection: None, delays: None }
    }
}

impl RunOptions {
    fn skips(&self, lane: Lane) -> bool {
        self.only.is_some_and(|only| (only == Only::Work) != (lane == Lane::Work))
    }
}

/// The factors `alpha` and `beta` of a run, independent of the element type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    pub alpha: Complex<f64>,
    pub beta: Complex<f64>,
}

impl Factors {
    pub fn new<T: Element>(alpha: T, beta: T) -> Factors {
        Factors { alpha: alpha.to_c64(), beta: beta.to_c64() }
    }
}

/// The threads that run a rank's tasks.
pub enum Team<'a> {
    /// The calling thread and its current rayon pool, without peers.
    Inline,
    /// The calling thread communicates, and a pool computes, alone for schedules without transfers; `on_failure` is
    /// called immediately, even while a worker computes.
    Pool { pool: &'a ThreadPool, endpoint: &'a mut Endpoint, on_failure: &'a mut dyn FnMut(&RunError) },
}

/// Runs a program once, with the user's memory (`bound`).
///
/// # Errors
/// If a task of this rank or a peer fails.
pub fn run(
    program: &mut RankProgram,
    bound: Vec<(BufferId, Slot)>,
    factors: Factors,
    options: &RunOptions,
    team: Team<'_>,
) -> Result<Metrics, RunError> {
    let store = program.open(bound)?;
    let result = match team {
        Team::Inline => inline::run(program, &store, factors, options),
        // Handing a task to a worker takes longer than many tasks.
        Team::Pool { pool, endpoint, on_failure } if options.only.is_none() && !program.has_transfers() => {
            if let Some(fault) = program.injected(options.injection) {
                fault.trigger();
            }
            let metrics = pool.install(|| inline::run(program, &store, factors, options));
            let packing = endpoint.packing_bytes() as u64;
            let metrics = metrics.map(|metrics| Metrics { owned_bytes: metrics.owned_bytes + packing, ..metrics });
            metrics.inspect_err(|error| on_failure(error))
        }
        Team::Pool { pool, endpoint, on_failure } => {
            rank::run(program, &store, factors, options, pool, endpoint, on_failure)
        }
    };
    match result {
        Ok(metrics) => {
            program.close(store);
            Ok(metrics)
        }
        // Transfers in flight may hold leases, so the store cannot be closed yet.
        Err(error) => {
            program.keep_open(store);
            Err(error)
        }
    }
}
