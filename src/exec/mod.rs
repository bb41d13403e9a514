//! Runs the verified schedule of one rank.
//!
//! ```text
//! communication thread (the caller)                         workers (a rayon pool)
//!   start every transfer whose edges allow it     ------->    contract, add, permute: one task at a time,
//!   start the next work task whose edges allow it             with all workers
//!   poll the transport                            <-------    "task 5 is complete"
//!   sleep when there is nothing to do
//! ```
//!
//! Workers never wait for data: a task reaches them only when its inputs are complete. Each lane starts and completes
//! its tasks in order, as the verifier assumes. Ranks without peers run in the caller's rayon pool, without other
//! threads (`inline`).
//!
//! Invariants: tasks access memory only through leases, so a wrong schedule is an error and not a data race; a failure
//! of any task ends the run of its rank, and the caller ends the others. Deliberately absent: element types (one table
//! of functions per dtype, in `kernels`), retries, choices beyond resolving the kernel that a plan names
//! (`kernel_selection`).

mod factors;
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

pub use factors::Factors;
pub use fault::{Delays, Fault, Injection, RunError, panic_message};
pub use kernel_selection::{KernelError, ResolvedKernel};
pub use metrics::{Metrics, Moved, TaskMetric};
pub use plan_cache::kernel_name;
pub use program::RankProgram;

use std::time::Duration;

use crate::comm::Endpoint;
use crate::memory::Slot;
use crate::schedule::{BufferId, Lane};
use crate::sync::ThreadPool;

/// One half of a run, to measure its time alone: tasks of the other half complete as soon as they may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// No bytes move, and no rank waits for a peer.
    Work,
    /// Nothing is computed.
    Transfers,
}

/// Options of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Transfers run while workers compute. If false, work and transfers take turns, in program order.
    pub overlap: bool,
    /// Runs only this half, the same one on every rank; the result is then meaningless.
    pub only: Option<Only>,
    /// Transfers in flight per lane, at least 1.
    pub window: usize,
    /// How long transfers may wait while no bytes move and this rank computes nothing; then the run fails. Also how
    /// long processes wait for each other between runs. `None` waits forever. The timeout must exceed the longest time
    /// that any other rank spends without communicating: for consecutive tasks of its workers, and, between runs, for
    /// reading, checking and writing files. It must also exceed the time to transfer a gigabyte between two ranks. A
    /// rank of the same process cannot be ended: there, the run fails when the silent rank returns.
    pub timeout: Option<Duration>,
    /// A failure to inject, for tests.
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
    /// Whether the tasks of a lane are skipped.
    fn skips(&self, lane: Lane) -> bool {
        self.only.is_some_and(|only| (only == Only::Work) != (lane == Lane::Work))
    }
}

/// The threads that run a rank's tasks.
pub enum Team<'a> {
    /// The caller alone, in its current rayon pool; for ranks without peers.
    Inline,
    /// The caller communicates, the pool computes. `on_failure` is called at once after a failure, while a worker may
    /// still compute.
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
        // Transfers in flight may still hold leases: the store is freed with the last one, once the caller has dropped
        // the endpoint.
        Err(error) => {
            program.leave(store);
            Err(error)
        }
    }
}
