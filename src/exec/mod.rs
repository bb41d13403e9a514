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
//! An edge makes a task wait for another task. Workers never wait for data, because a task is passed to them only when
//! its inputs are complete. Each lane (the sequence of a rank's work, send or receive tasks) starts and completes its
//! tasks in order, as the verifier assumes. A rank without peers runs in the caller's rayon pool and needs no
//! communication thread (`inline`).
//!
//! Tasks access memory only through leases (checked access rights), so an incorrect schedule causes an error instead of
//! a data race. If a task fails, the run of its rank ends, and the caller stops the other ranks; nothing is retried.
//! Only the module `kernels` depends on element types; it has one table of functions per dtype. The plan contains all
//! decisions, except that `kernel_selection` resolves the plan's kernel choice to a kernel of this machine.

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

/// Selects the work or the transfers of a run, to measure the selected tasks alone. All other tasks are skipped, and
/// are marked as complete when their dependencies are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// Only work tasks run. No bytes move, and no rank waits for a peer.
    Work,
    /// Only transfers run.
    Transfers,
}

/// Options of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Whether transfers run while workers compute. If false, work and transfers alternate in program order.
    pub overlap: bool,
    /// If set, only work or only transfers run, and the values of the result are meaningless. The choice must be the
    /// same on every rank.
    pub only: Option<Only>,
    /// Maximum number of transfers in flight per lane, at least 1.
    pub window: usize,
    /// The run fails if no bytes move for this time while this rank waits for transfers and computes nothing. Processes
    /// also wait at most this time for each other between runs. `None` means no timeout. The timeout must exceed the
    /// longest period in which any other rank does not communicate. Such periods occur while the workers of that rank
    /// compute several tasks in a row and, between runs, while the rank reads, checks or writes files. The timeout must
    /// also exceed the time to transfer a gigabyte between two ranks. If the ranks are threads of one process, a silent
    /// rank cannot be killed, so the run fails only when that rank returns.
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
    /// Whether the tasks in a lane are skipped.
    fn skips(&self, lane: Lane) -> bool {
        self.only.is_some_and(|only| (only == Only::Work) != (lane == Lane::Work))
    }
}

/// The threads that run a rank's tasks.
pub enum Team<'a> {
    /// The calling thread and its current rayon pool, for ranks without peers.
    Inline,
    /// The calling thread, which communicates, and a pool, which computes. `on_failure` is called immediately after a
    /// failure, while a worker may still be computing.
    Pool { pool: &'a ThreadPool, endpoint: &'a mut Endpoint, on_failure: &'a mut dyn FnMut(&RunError) },
}

/// Runs a program once. `bound` is the user's memory for the buffers of operands and output.
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
        Team::Pool { pool, endpoint, on_failure } => {
            rank::run(program, &store, factors, options, pool, endpoint, on_failure)
        }
    };
    match result {
        Ok(metrics) => {
            program.close(store);
            Ok(metrics)
        }
        // Transfers in flight may still hold leases (access rights) on buffers in the store, so the store cannot be
        // closed yet.
        Err(error) => {
            program.keep_open(store);
            Err(error)
        }
    }
}
