//! Proves that the schedules of a plan are correct, without running them.
//!
//! [`own`] checks one rank's schedule: views are inside buffers, and edges order any two accesses to the same elements
//! of which one writes. [`whole`] checks all ranks together: sends match receives, no element is read before it is
//! written, and the run terminates even with one unbuffered transfer in flight per lane. It also follows the
//! *provenance* of every element through all tasks: each element of `out` must have the product for each summed index k
//! exactly once, on every owner and replica.
//!
//! Conjugation is not followed, but the schedule's flags are compared with the plan's.
//!
//! [`whole`] is linear in the tasks of all ranks. [`follow`] checks some result blocks only.

mod alone;
mod cone;
mod hazard;
mod provenance;
mod run;
mod semantics;
mod sharing;
mod spec;

pub use alone::{Described, agree, alone, with_peers};
pub use cone::follow;
pub use hazard::check as check_own;
pub use spec::{Order, Origin, Spec, Summand, Summands, Value};

use super::{BufferId, Schedule, TaskId};

/// The number of tasks on each lane, which completes them in order, that are complete when a task starts.
type Clock = [usize; 3];

/// A schedule that [`own`] has checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified(Schedule);

impl Verified {
    pub fn schedule(&self) -> &Schedule {
        &self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the schedules do not number their ranks 0, 1, ..")]
    Ranks,
    #[error("buffer {0} does not have the labels, shape or place that the plan gives its tensor")]
    Buffer(BufferId),
    #[error("the tensor of buffer {0} is conjugated, and should not be, or the other way round")]
    Conjugation(BufferId),
    #[error("there is no buffer {0}")]
    NoBuffer(BufferId),
    #[error("a box leaves buffer {0}")]
    Outside(BufferId),
    #[error("operand buffer {0} is written")]
    ReadOnly(BufferId),
    #[error("the task reads and writes the same elements of buffer {0}")]
    Alias(BufferId),
    #[error("there is no peer {0}")]
    Peer(usize),
    #[error("the tasks that are to run side by side are no lanes of work")]
    Section,
    #[error("an edge leads to task {0}, which is not earlier")]
    Edge(TaskId),
    #[error("nothing orders it after task {other}, which uses the same elements of buffer {buffer}")]
    Hazard { other: TaskId, buffer: BufferId },
    #[error("the arena has no place for every buffer")]
    Arena,
    #[error("buffers {buffer} and {other} have overlapping addresses and lifetimes")]
    Shared { buffer: BufferId, other: BufferId },
    #[error("nothing orders it after the last use of what was at the place of buffer {0} before")]
    Early(BufferId),
    #[error("it is left out of runs in which what it is made of changes")]
    Outlasts,
    #[error("the transfer with rank {peer} has other boxes at the other end")]
    Mismatch { peer: usize },
    #[error("it does not carry what the algorithm says")]
    Carries,
    #[error("it never starts: what it waits for never happens")]
    Deadlock,
    #[error("it reads elements of buffer {0} that nothing has written")]
    Unwritten(BufferId),
    #[error("extents or labels of its boxes do not fit")]
    Shape,
    #[error("it reads the wrong tensor, or the wrong part of it, from buffer {0}")]
    WrongInput(BufferId),
    #[error("it reads unfinished sums from buffer {0}")]
    Unfinished(BufferId),
    #[error("it adds a product to a sum that has it")]
    Twice,
    #[error("it adds products out of order, so that bits would not repeat")]
    Order,
    #[error("alpha or beta is applied twice, or to the wrong values")]
    Scaling,
    #[error("out is not what the expression asks for")]
    Result,
    #[error("the rank needs {peak} bytes, {} more than the limit of {budget}", peak - budget)]
    Memory { peak: u64, budget: u64 },
    #[error("the slices of group {group} do not follow those of the group before it, or some slice has no group")]
    Slices { group: usize },
    #[error("value {value} is not where a plan with groups of ranks has operands, their copies, steps and the result")]
    Groups { value: usize },
}

/// A fault and its location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}{}: {fault}", task.map_or_else(String::new, |task| format!(", task {task}")))]
pub struct VerifyError {
    /// The rank whose schedule is wrong.
    pub rank: usize,
    /// The task of the fault, if it concerns a single one.
    pub task: Option<TaskId>,
    /// The kind of fault.
    pub fault: Fault,
}

/// Checks bounds and hazards of one rank's schedule.
///
/// # Errors
/// If a check fails, with the rank and task of the first fault.
pub fn own(schedule: Schedule, spec: &Spec) -> Result<Verified, VerifyError> {
    hazard::check(&schedule, spec)?;
    Ok(Verified(schedule))
}

/// Checks each rank's schedule, then all together, with a limit of `budget` bytes per rank.
///
/// # Errors
/// If a check fails, with the rank and task of the first fault.
pub fn whole(schedules: &[Schedule], spec: &Spec, budget: Option<u64>) -> Result<(), VerifyError> {
    for (rank, schedule) in schedules.iter().enumerate() {
        let at = |fault| VerifyError { rank, task: None, fault };
        if (schedule.rank, schedule.ranks) != (rank, schedules.len()) {
            return Err(at(Fault::Ranks));
        }
        hazard::check(schedule, spec)?;
        let peak = schedule.peak_bytes();
        if let Some(budget) = budget.filter(|&budget| peak > budget) {
            return Err(at(Fault::Memory { peak, budget }));
        }
    }
    run::check(schedules, spec, |_| true)
}
