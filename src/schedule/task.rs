//! Buffers, tasks (work or transfers), and the boxes of buffers that they access.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use crate::dims::Label;
use crate::distribution::{Bounds, Region, tile_bounds, volume};

/// An index into the schedule's list of buffers.
pub type BufferId = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// This rank's block of the operand with this index, borrowed and never written.
    Operand(usize),
    /// This rank's block of the result, the user's or in the arena.
    Output,
    /// In the arena, without transfers.
    Arena,
    /// In the arena, used by transfers.
    Exchange,
}

impl Home {
    pub fn is_arena(self) -> bool {
        matches!(self, Home::Arena | Home::Exchange)
    }
}

/// An operand's contents at the start of a run, or the output's at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPlacement {
    /// Stored as a dense array.
    pub region: Region,
    /// The stored summand and the number of summands; `(0, 1)` without partial sums.
    pub summand: (usize, usize),
}

/// A row-major array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// The tree node whose tensor the buffer stores.
    pub node: usize,
    pub labels: Vec<Label>,
    pub extents: Vec<usize>,
    /// The extents of the dense array around the buffer: the user's block for a slice of it.
    pub within: Vec<usize>,
    pub home: Home,
    /// `Some` for operands and the output.
    pub place: Option<BufferPlacement>,
}

impl Buffer {
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }
}

/// An index into the schedule's list of tasks.
pub type TaskId = usize;

/// A box of a buffer, in the buffer's own coordinates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub buffer: BufferId,
    pub bounds: Bounds,
}

impl View {
    pub fn elements(&self) -> usize {
        volume(&self.bounds)
    }

    pub fn extents(&self) -> Vec<usize> {
        self.bounds.iter().map(Range::len).collect()
    }

    pub fn corner(buffer: BufferId, extents: impl IntoIterator<Item = usize>) -> View {
        View { buffer, bounds: extents.into_iter().map(|extent| 0..extent).collect() }
    }

    /// One of `parts` even tiles along the longest dimension; `None` if it is empty. Boxes with equal extents have
    /// equal tiles.
    pub fn tile(&self, parts: usize, index: usize) -> Option<View> {
        let mut bounds = self.bounds.clone();
        match bounds.iter_mut().min_by_key(|range| std::cmp::Reverse(range.len())) {
            Some(range) => {
                let tile = tile_bounds(range.len(), parts, index);
                *range = range.start + tile.start..range.start + tile.end;
            }
            None if index > 0 => return None,
            None => {}
        }
        Some(View { buffer: self.buffer, bounds }).filter(|view| view.elements() > 0)
    }

    pub fn overlaps(&self, other: &View) -> bool {
        let meet = |(a, b): (&Range<usize>, &Range<usize>)| a.start.max(b.start) < a.end.min(b.end);
        self.buffer == other.buffer && self.bounds.iter().zip(&other.bounds).all(meet)
    }

    pub fn covers(&self, other: &View) -> bool {
        let within = |(a, b): (&Range<usize>, &Range<usize>)| a.start <= b.start && b.end <= a.end;
        self.buffer == other.buffer && self.bounds.iter().zip(&other.bounds).all(within)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accumulate {
    /// `out = left right`, without reading `out`.
    Overwrite,
    /// `out = out + left right`.
    Add,
    /// `out = beta out + left right`.
    Beta,
}

/// Views have the labels of their buffers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Contracts the boxes `left` and `right` into `out`.
    Contract { left: View, right: View, out: View, accumulate: Accumulate },
    /// Permutes dimensions, takes diagonals (labels that `input` repeats) and sums over labels that `out` lacks.
    Unary { input: View, out: View },
    /// `out = out + input`.
    Add { input: View, out: View },
    /// Fills `out` with zeros.
    Fill { out: View },
    /// `out = input + beta out`, at the root of the tree.
    Update { input: View, out: View },
    /// `out = factor out`, at the root of the tree; `alpha` first conjugates an `out` whose node is in
    /// [`Schedule::conjugated`](super::Schedule::conjugated).
    Scale { out: View, factor: Factor },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// The factor of the products at the root.
    Alpha,
    /// The factor of the previous values of `out`.
    Beta,
}

/// The boxes that a task accesses, up to three without a heap allocation.
pub type Views<'a> = SmallVec<[&'a View; 3]>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Boxed because most tasks are transfers, which are smaller.
    Work(Box<Work>),
    /// Sends the boxes to `peer`, each in row-major order.
    Send { peer: usize, from: Vec<View> },
    /// Receives into the boxes from `peer`, each in row-major order.
    Recv { peer: usize, into: Vec<View> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    Work = 0,
    Send = 1,
    Recv = 2,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub action: Action,
    pub node: usize,
    /// Earlier tasks that must be complete first.
    pub after: Vec<TaskId>,
}

impl Action {
    pub fn lane(&self) -> Lane {
        match self {
            Action::Work(_) => Lane::Work,
            Action::Send { .. } => Lane::Send,
            Action::Recv { .. } => Lane::Recv,
        }
    }

    pub fn peer(&self) -> Option<usize> {
        match *self {
            Action::Work(_) => None,
            Action::Send { peer, .. } | Action::Recv { peer, .. } => Some(peer),
        }
    }

    pub fn work(&self) -> Option<&Work> {
        match self {
            Action::Work(work) => Some(work),
            Action::Send { .. } | Action::Recv { .. } => None,
        }
    }

    pub fn reads(&self) -> Views<'_> {
        match self {
            Action::Work(work) => match work.as_ref() {
                Work::Contract { left, right, accumulate: Accumulate::Overwrite, .. } => smallvec![left, right],
                Work::Contract { left, right, out, .. } => smallvec![left, right, out],
                Work::Unary { input, .. } => smallvec![input],
                Work::Add { input, out } | Work::Update { input, out } => smallvec![input, out],
                Work::Fill { .. } => smallvec![],
                Work::Scale { out, .. } => smallvec![out],
            },
            Action::Send { from, .. } => from.iter().collect(),
            Action::Recv { .. } => smallvec![],
        }
    }

    pub fn views(&self) -> impl Iterator<Item = &View> {
        self.accesses().map(|(view, _)| view)
    }

    /// The views, and whether the action writes them.
    pub fn accesses(&self) -> impl Iterator<Item = (&View, bool)> {
        let reads = self.reads().into_iter().map(|view| (view, false));
        reads.chain(self.writes().into_iter().map(|view| (view, true)))
    }

    pub fn writes(&self) -> Views<'_> {
        match self {
            Action::Work(work) => match work.as_ref() {
                Work::Contract { out, .. }
                | Work::Unary { out, .. }
                | Work::Add { out, .. }
                | Work::Fill { out }
                | Work::Update { out, .. }
                | Work::Scale { out, .. } => smallvec![out],
            },
            Action::Send { .. } => smallvec![],
            Action::Recv { into, .. } => into.iter().collect(),
        }
    }
}
