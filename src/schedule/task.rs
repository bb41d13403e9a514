//! Tasks: work, transfers, and what they read and write.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use super::BufferId;
use crate::distribution::{Bounds, tile_bounds, volume};

/// A task of one rank, by its place in the schedule.
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

    /// Tile `index` of `parts` even ones along the longest dimension, if it has elements; a number is its first tile. Boxes of
    /// the same extents have tiles of the same extents.
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

    /// Whether the two share an element.
    pub fn overlaps(&self, other: &View) -> bool {
        let meet = |(a, b): (&Range<usize>, &Range<usize>)| a.start.max(b.start) < a.end.min(b.end);
        self.buffer == other.buffer && self.bounds.iter().zip(&other.bounds).all(meet)
    }

    /// Whether every element of `other` is one of `self`.
    pub fn covers(&self, other: &View) -> bool {
        let within = |(a, b): (&Range<usize>, &Range<usize>)| a.start <= b.start && b.end <= a.end;
        self.buffer == other.buffer && self.bounds.iter().zip(&other.bounds).all(within)
    }
}

/// What becomes of the values that `out` holds before a contraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accumulate {
    /// They are not read: `out = left right`.
    Overwrite,
    /// `out = out + left right`.
    Add,
    /// They are the user's: `out = beta out + left right`.
    Beta,
}

/// A task for the workers. Labels come from the buffers; contractions of the root are scaled by the run's alpha.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Contracts two boxes onto a third.
    Contract { left: View, right: View, out: View, accumulate: Accumulate },
    /// Permutes, takes diagonals (labels repeated in `input`) and sums (labels not in `out`); also a plain copy.
    Unary { input: View, out: View },
    /// `out = out + input`.
    Add { input: View, out: View },
    /// Zeros.
    Fill { out: View },
    /// `out = input + beta out`, at the root.
    Update { input: View, out: View },
    /// `out = factor out`, at the root.
    Scale { out: View, factor: Factor },
}

/// A number that a run is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// Of the new values.
    Alpha,
    /// Of the values that out had before.
    Beta,
}

/// Boxes that a task uses: of work a few, which take no memory of their own.
pub type Views<'a> = SmallVec<[&'a View; 3]>;

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// In a box, since it is more than twice as large as a transfer, and most tasks are transfers.
    Work(Box<Work>),
    /// Sends the boxes, one behind another, each row-major.
    Send { peer: usize, from: Vec<View> },
    /// Receives into the boxes, one behind another, each row-major.
    Recv { peer: usize, into: Vec<View> },
}

/// The lanes of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    Work = 0,
    Send = 1,
    Recv = 2,
}

/// A task with its node and its edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub action: Action,
    /// The node of the tree that it serves.
    pub node: usize,
    /// Earlier tasks of this rank that must be complete before it starts.
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

    /// The other rank of a transfer.
    pub fn peer(&self) -> Option<usize> {
        match *self {
            Action::Work(_) => None,
            Action::Send { peer, .. } | Action::Recv { peer, .. } => Some(peer),
        }
    }

    /// What the workers do, if it is for them.
    pub fn work(&self) -> Option<&Work> {
        match self {
            Action::Work(work) => Some(work),
            Action::Send { .. } | Action::Recv { .. } => None,
        }
    }

    /// The boxes that are read.
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

    /// The boxes that are written.
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
