//! Represents the schedule for one rank, which consists of buffers, tasks, and edges (dependencies) between tasks.
//!
//! A [`Schedule`] is a plain value. Algorithms generate it ([`crate::algorithm`]), [`verify`] proves it, the executor
//! runs it, and the cost model prices it. A rank has three lanes, which are queues for its work, its sends and its
//! receives. The work lane can contain sections, whose branches run at the same time ([`Section`]). **Each lane starts
//! its tasks in order, and completes them in order**. A task starts when all tasks in its `after` list are complete.
//! Several transfers on one lane may be in flight at the same time. A transfer waits for the completion of a previous
//! transfer only if there is an edge between the two.
//!
//! ```text
//! rank 0 of ring-mn on 2 ranks         lane     after
//!   0  send [k, n0] to 1               send     -
//!   1  recv [k, n1] from 1             receive  -
//!   2  contract left, [k, n0] -> out0  work     -
//!   3  contract left, [k, n1] -> out1  work     1
//! ```
//!
//! Invariants: the `after` list of a task contains only tasks that precede the task. Every rank orders its tasks in the
//! same way (by node of the tree, then by step of the algorithm). The transfers of each rank are therefore a
//! subsequence of one total order. A schedule contains no tensor data, pointers, Rust element types or MPI objects, so
//! a planner can build it on any machine.

pub mod arena;
mod buffer;
mod builder;
pub mod collective;
mod reuse;
mod section;
mod task;
mod uses;
pub mod verify;
mod view_layout;

pub use buffer::{Buffer, BufferId, BufferPlacement, Home};
pub use builder::Builder;
pub use reuse::ReuseScope;
pub use section::Section;
pub use task::{Accumulate, Action, Factor, Lane, Task, TaskId, View, Views, Work};
pub use view_layout::ViewLayout;

use serde::{Deserialize, Serialize};

/// All tasks of one rank for one slice of a plan, and their buffers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The rank that runs the tasks.
    pub rank: usize,
    /// The number of ranks in the plan.
    pub ranks: usize,
    /// Size of one element in bytes.
    pub element: usize,
    /// The buffers that tasks read and write, indexed by [`BufferId`].
    pub buffers: Vec<Buffer>,
    /// The tasks. Each task follows all tasks that it waits for.
    pub tasks: Vec<Task>,
    /// The offset of each buffer in the arena, in bytes. It is 0 for the user's buffers, which are not in the arena.
    pub offsets: Vec<usize>,
    /// Size of the arena in bytes.
    pub arena_bytes: usize,
    /// The sections, in the order of their tasks in `tasks`. All work tasks outside sections run one after another.
    pub sections: Vec<Section>,
    /// How long the tensor of each node stays valid. The tensor of a node that is not listed stays valid for one slice.
    pub lasting: Vec<ReuseScope>,
    /// Nodes whose tensor is stored without the complex conjugation that the expression applies to it, in ascending
    /// order. Contractions conjugate it when they read it, and the task that scales the result by `alpha` conjugates the
    /// result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conjugated: Vec<usize>,
}

impl Schedule {
    /// Whether the elements in a box of a buffer must be conjugated when they are used.
    pub fn is_conjugated(&self, view: &View) -> bool {
        !self.conjugated.is_empty() && self.conjugated.binary_search(&self.buffers[view.buffer].node).is_ok()
    }

    /// Returns the total number of elements in the views of a transfer.
    pub fn elements(views: &[View]) -> u64 {
        views.iter().map(|view| view.elements() as u64).sum()
    }

    /// Returns the number of bytes that a transfer moves, or 0 for a work task.
    pub fn bytes(&self, action: &Action) -> u64 {
        match action {
            Action::Work(_) => 0,
            Action::Send { from: views, .. } | Action::Recv { into: views, .. } => {
                Schedule::elements(views) * self.element as u64
            }
        }
    }

    /// Returns the number of bytes that this rank receives.
    pub fn bytes_received(&self) -> u64 {
        self.tasks.iter().map(|task| self.received(task)).sum()
    }

    /// Returns the number of bytes that this rank receives for each of `nodes` nodes.
    pub fn bytes_received_by_node(&self, nodes: usize) -> Vec<u64> {
        let mut received = vec![0; nodes];
        self.tasks.iter().for_each(|task| received[task.node] += self.received(task));
        received
    }

    fn received(&self, task: &Task) -> u64 {
        match &task.action {
            Action::Recv { .. } => self.bytes(&task.action),
            _ => 0,
        }
    }

    /// Returns the number of bytes that this rank sends.
    pub fn bytes_sent(&self) -> u64 {
        let sent = self.tasks.iter().map(|task| match &task.action {
            Action::Send { .. } => self.bytes(&task.action),
            _ => 0,
        });
        sent.sum()
    }

    /// Returns the number of bytes in the user's blocks and in the arena. Packing buffers of the transport and the
    /// kernels are not included.
    pub fn peak_bytes(&self) -> u64 {
        let users = self.buffers.iter().filter(|buffer| matches!(buffer.home, Home::Operand(_) | Home::Output));
        let bytes = users.map(|buffer| buffer.elements().saturating_mul(self.element) as u64);
        bytes.fold(self.arena_bytes as u64, u64::saturating_add)
    }
}
