//! Defines the faults that the verifier reports.

use crate::schedule::{BufferId, TaskId};

/// A fault in a schedule.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyError {
    /// The rank whose schedule is wrong.
    pub rank: usize,
    /// The task of the fault, if it concerns a single one.
    pub task: Option<TaskId>,
    /// The kind of fault.
    pub fault: Fault,
}

impl std::fmt::Display for VerifyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.task {
            Some(task) => write!(f, "rank {}, task {task}: {}", self.rank, self.fault),
            None => write!(f, "rank {}: {}", self.rank, self.fault),
        }
    }
}

impl std::error::Error for VerifyError {}
