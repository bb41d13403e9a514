//! Describes the buffers of a schedule.

use serde::{Deserialize, Serialize};

use crate::dims::Label;
use crate::distribution::Region;

/// A buffer of one rank, as an index into the schedule's list of buffers.
pub type BufferId = usize;

/// The owner and the use of a buffer's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// This rank's block of the operand with this index. The memory is borrowed from the user and never written.
    Operand(usize),
    /// This rank's block of the result. The memory is borrowed from the user or in the arena.
    Output,
    /// Memory in the arena that no transfer reads or writes.
    Arena,
    /// Memory in the arena that transfers read or write.
    Exchange,
}

/// The contents of a buffer for an operand or the output. An operand has these contents at the start of a run, and the
/// output must have them at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPlacement {
    /// The region of the tensor that the buffer stores as a dense array.
    pub region: Region,
    /// The index of the tensor's summand that the buffer stores, and the number of summands. It is `(0, 1)` unless the
    /// tensor is distributed as partial sums.
    pub summand: (usize, usize),
}

/// A buffer, which is a row-major array with the given extents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// The tree node whose tensor the buffer stores, completely or in part.
    pub node: usize,
    pub labels: Vec<Label>,
    pub extents: Vec<usize>,
    /// The extents of the dense array that contains the buffer as a box. For a slice of a user's block, these are the
    /// extents of the block; otherwise, they are the buffer's own extents.
    pub within: Vec<usize>,
    pub home: Home,
    /// `Some` for operands and the output, `None` for all other buffers.
    pub place: Option<BufferPlacement>,
}

impl Buffer {
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }
}
