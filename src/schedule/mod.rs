//! One rank's schedule: buffers, tasks, and edges (dependencies) between tasks.
//!
//! A rank has three lanes (queues) for work, sends and receives. The work lane can contain sections, whose branches run
//! at the same time ([`Section`]). **Each lane starts and completes its tasks in order**. A task starts when all tasks
//! in its `after` list are complete. Several transfers may be in flight on one lane, and wait for each other only along
//! edges.
//!
//! ```text
//! rank 0 of ring-mn on 2 ranks         lane     after
//!   0  send [k, n0] to 1               send     -
//!   1  recv [k, n1] from 1             receive  -
//!   2  contract left, [k, n0] -> out0  work     -
//!   3  contract left, [k, n1] -> out1  work     1
//! ```
//!
//! Invariants: an `after` list contains only earlier tasks. Every rank orders tasks by node, then step of the
//! algorithm, so its transfers are a subsequence of one total order. A schedule has no tensor data, pointers or MPI
//! objects.

pub mod arena;
mod boxes;
mod builder;
mod carried;
pub mod collective;
mod reuse;
mod section;
mod task;
mod uses;
pub mod verify;

pub use builder::{Builder, Transfer};
pub use carried::{Carried, CarriedSum, Key, LAST};
pub use reuse::ReuseScope;
pub use section::Section;
pub use task::{
    Accumulate, Action, Buffer, BufferId, BufferPlacement, Factor, Home, Lane, Task, TaskId, View, Views, Work,
};

use serde::{Deserialize, Serialize};

use crate::dims::Label;
use crate::local_plan::{Layout, row_major};

/// The layout of a box of a buffer. Buffers are dense row-major arrays, and so are a user's blocks unless the caller
/// passes other strides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewLayout<'a> {
    labels: &'a [Label],
    extents: Vec<usize>,
    strides: Vec<isize>,
}

impl ViewLayout<'_> {
    pub fn layout(&self) -> Layout<'_> {
        Layout::new(self.labels, &self.extents, &self.strides)
    }
}

/// One rank's tasks for one slice of a plan, and their buffers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The rank that runs the tasks.
    pub rank: usize,
    /// The number of ranks in the plan.
    pub ranks: usize,
    /// Size of one element in bytes.
    pub element: usize,
    /// Indexed by [`BufferId`].
    pub buffers: Vec<Buffer>,
    /// Each is after those that it waits for.
    pub tasks: Vec<Task>,
    /// The offset of each buffer in the arena, in bytes; 0 for the user's buffers.
    pub offsets: Vec<usize>,
    /// Size of the arena in bytes.
    pub arena_bytes: usize,
    /// In order of their tasks.
    pub sections: Vec<Section>,
    /// How long each node's tensor stays valid; one slice if not listed.
    pub lasting: Vec<ReuseScope>,
    /// Nodes whose tensor is stored without the expression's conjugation, ascending. Contractions conjugate when they
    /// read it, and the task that scales by `alpha` conjugates the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conjugated: Vec<usize>,
}

impl Schedule {
    /// Whether the elements in a box must be conjugated when used.
    pub fn is_conjugated(&self, view: &View) -> bool {
        !self.conjugated.is_empty() && self.conjugated.binary_search(&self.buffers[view.buffer].node).is_ok()
    }

    /// The number of elements in the views.
    pub fn elements(views: &[View]) -> u64 {
        views.iter().map(|view| view.elements() as u64).sum()
    }

    /// The bytes that a transfer moves; 0 for work.
    pub fn bytes(&self, action: &Action) -> u64 {
        match action {
            Action::Work(_) => 0,
            Action::Send { from: views, .. } | Action::Recv { into: views, .. } => {
                Schedule::elements(views) * self.element as u64
            }
        }
    }

    /// The bytes that this rank receives.
    pub fn bytes_received(&self) -> u64 {
        self.on(Lane::Recv).map(|task| self.bytes(&task.action)).sum()
    }

    /// The bytes that this rank receives for each of `nodes` nodes.
    pub fn bytes_received_by_node(&self, nodes: usize) -> Vec<u64> {
        let mut received = vec![0; nodes];
        self.on(Lane::Recv).for_each(|task| received[task.node] += self.bytes(&task.action));
        received
    }

    fn on(&self, lane: Lane) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |task| task.action.lane() == lane)
    }

    /// The bytes in the user's blocks and in the arena.
    pub fn peak_bytes(&self) -> u64 {
        let users = self.buffers.iter().filter(|buffer| matches!(buffer.home, Home::Operand(_) | Home::Output));
        let bytes = users.map(|buffer| buffer.elements().saturating_mul(self.element) as u64);
        bytes.fold(self.arena_bytes as u64, u64::saturating_add)
    }
    /// The layout of a view.
    pub fn view_layout(&self, view: &View) -> ViewLayout<'_> {
        self.box_of(view, &self.buffers[view.buffer].within)
    }

    /// The layout of a view in a dense `array` around its buffer.
    pub fn box_of(&self, view: &View, array: &[usize]) -> ViewLayout<'_> {
        let labels = &self.buffers[view.buffer].labels;
        ViewLayout { labels, extents: view.extents(), strides: row_major(array) }
    }

    /// The layouts of `left`, `right` and `out` of a contraction.
    pub fn contraction(&self, work: &Work) -> Option<[ViewLayout<'_>; 3]> {
        match work {
            Work::Contract { left, right, out, .. } => Some([left, right, out].map(|view| self.view_layout(view))),
            _ => None,
        }
    }
}
