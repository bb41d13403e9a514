//! Describes the buffers of a schedule.

use serde::{Deserialize, Serialize};

use crate::dims::Label;
use crate::distribution::Region;

/// A buffer of one rank, as its index in the table of buffers.
pub type BufferId = usize;

/// Where a buffer's memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// The block of the operand with this index; borrowed from the user and never written.
    Operand(usize),
    /// The block of the result; borrowed from the user or stored in the arena.
    Output,
    /// Owned by the compiled plan; neither sent nor received into.
    Arena,
    /// Owned by the compiled plan; sent from or received into.
    Exchange,
}

/// The contents that a buffer has at the start (an operand, or an output that results are added to) or must have at the
/// end (an output).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPlacement {
    /// The region of the tensor that the buffer stores as a dense array.
    pub region: Region,
    /// The index of the tensor's summand that the buffer stores, and the number of summands; `(0, 1)` for final values.
    pub summand: (usize, usize),
}

/// A buffer, which is a row-major array with the given extents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// The tree node whose tensor the buffer stores, completely or in part.
    pub node: usize,
    pub labels: Vec<Label>,
    pub extents: Vec<usize>,
    /// The extents of the dense array of which the buffer is a box. These are the buffer's own extents or, for a slice
    /// of a user's block, the extents of that block.
    pub within: Vec<usize>,
    pub home: Home,
    /// Set for operands and the output only.
    pub place: Option<BufferPlacement>,
}

impl Buffer {
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }
}
