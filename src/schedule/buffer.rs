//! The buffer table of a schedule.

use serde::{Deserialize, Serialize};

use crate::dims::Label;
use crate::distribution::Region;

/// A buffer of one rank, by its index in the table.
pub type BufferId = usize;

/// Where a buffer's memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// The block of the operand with this index, borrowed from the user; never written.
    Operand(usize),
    /// The block of the result, borrowed from the user or kept in the arena.
    Output,
    /// Owned by the compiled plan; not sent and not received into.
    Arena,
    /// Owned by the compiled plan; sent from or received into.
    Exchange,
}

/// The contents that a buffer has at the start (operands, an output that is added onto) or must have at the end
/// (output).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPlacement {
    /// The region of the tensor that the buffer stores, densely.
    pub region: Region,
    /// The index of the summand of the tensor, and the number of summands; `(0, 1)` for final values.
    pub summand: (usize, usize),
}

/// One buffer: a row-major array of these extents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// The tree node whose tensor is stored, in part or completely, in the buffer.
    pub node: usize,
    pub labels: Vec<Label>,
    pub extents: Vec<usize>,
    /// The extents of the dense array of which the buffer is a box: its own extents or, for a slice of a block of the
    /// user, the extents of that block.
    pub within: Vec<usize>,
    pub home: Home,
    /// Present for operands and the output only.
    pub place: Option<BufferPlacement>,
}

impl Buffer {
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }
}
