//! The buffer table of a schedule.

use serde::{Deserialize, Serialize};

use crate::dims::Label;
use crate::distribution::Region;

/// A buffer of one rank, by its place in the table.
pub type BufferId = usize;

/// Where a buffer's memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// The block of the operand with this index, borrowed from the user; never written.
    Operand(usize),
    /// The block of the result, borrowed from the user or kept in the arena.
    Output,
    /// Owned by the compiled plan; no peer sees it.
    Arena,
    /// Owned by the compiled plan; travels, or is received into.
    Exchange,
}

/// What a buffer holds from the beginning (operands, an output that is added onto) or must hold in the end (output).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPlacement {
    /// The piece of the whole tensor, stored densely.
    pub region: Region,
    /// Which summand of the tensor it is, and of how many (`(0, 1)`: final values).
    pub summand: (usize, usize),
}

/// One buffer: a row-major array of these extents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// The node of the tree whose tensor it holds a piece of.
    pub node: usize,
    pub labels: Vec<Label>,
    pub extents: Vec<usize>,
    /// The extents of the dense array that it is a box of: its own, but of the user's block of which it is a slice.
    pub within: Vec<usize>,
    pub home: Home,
    /// Set for operands and the output.
    pub place: Option<BufferPlacement>,
}

impl Buffer {
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }
}
