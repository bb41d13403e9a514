//! Runs the verified schedule of one rank.
//!
//! ```text
//! communication thread (the caller)                         workers (a rayon pool)
//!   start every transfer whose edges allow it     ------->    contract, add, permute: one task at a time,
//!   start the next work task whose edges allow it             all workers in it
//!   poll the transport                            <-------    "task 5 is complete"
//!   sleep when there is nothing to do
//! ```
//!
//! Workers never wait for data: a task reaches them when its inputs are there. Each lane starts and completes in order, as
//! the verifier assumes. Ranks without peers run in the caller's own rayon pool with no thread of ours (`inline`).
//!
//! Invariants: tasks touch memory through leases only, so a wrong schedule is an error and not a data race; a failure of
//! any task ends the run of its rank, and the caller ends the others. Deliberately absent: element types (one table of
//! functions per dtype, in `kernels`), retries, any choice but what `choice` makes of the kernel that a plan names.

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
pub use program::{Factors, RankProgram};

use std::time::Duration;

use crate::comm::Endpoint;
use crate::memory::Slot;
use crate::schedule::{BufferId, Lane};
use crate::sync::ThreadPool;

/// One half of a run, to measure what it takes alone: the other half's tasks are over as soon as they may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    /// No byte moves, and nobody waits for a peer.
    Work,
    /// Nothing is computed.
    Transfers,
}

/// How to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Transfers run while workers compute; without, work and transfers of the program order take turns.
    pub overlap: bool,
    /// Only this half is run, the same on every rank; the result means nothing then.
    pub alone: Option<Alone>,
    /// Transfers in flight per lane, at least 1.
    pub window: usize,
    /// How long transfers may wait while nothing at all moves and this rank computes nothing; then the run fails. Also how long
    /// processes wait for each other between runs. More than whatever any other rank does without communicating: consecutive tasks of
    /// its workers, and between runs reading, checking and writing files; and than a gigabyte takes between two ranks. A rank of the
    /// same process cannot be ended: there the run fails when the silent one returns.
    pub timeout: Option<Duration>,
    /// A failure to inject, for tests.
    pub injection: Option<Injection>,
    /// Pauses to inject, for tests.
    pub delays: Option<Delays>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions { overlap: true, alone: None, window: 4, timeout: None, injection: None, delays: None }
    }
}

impl RunOptions {
    /// Whether tasks of a lane are left out.
    fn skips(&self, lane: Lane) -> bool {
        self.alone.is_some_and(|alone| (alone == Alone::Work) != (lane == Lane::Work))
    }
}

/// What runs a rank's tasks.
pub enum Team<'a> {
    /// The caller alone, in its current rayon pool; for ranks without peers.
    Inline,
    /// The caller communicates, the pool computes.
    /// A failure is told to `on_failure` at once, while a worker may still compute.
    Pool { pool: &'a ThreadPool, endpoint: &'a mut Endpoint, on_failure: &'a mut dyn FnMut(&RunError) },
}

/// Runs a program once, with the user's memory for the buffers of operands and output.
///
/// # Errors
/// The first failed task of this rank, or the failure of a peer.
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
        Team::Pool { pool, endpoint, on_failure } => {
            rank::run(program, &store, factors, options, pool, endpoint, on_failure)
        }
    };
    match result {
        Ok(metrics) => {
            program.close(store);
            Ok(metrics)
        }
        // Transfers in flight may still hold leases; the caller drops the endpoint, then the last lease ends the store.
        Err(error) => {
            program.leave(store);
            Err(error)
        }
    }
}
