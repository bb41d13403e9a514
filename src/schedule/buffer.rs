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
    /// This rank's block of the operand with this index, borrowed and never written.
    Operand(usize),
    /// This rank's block of the result, the user's or in the arena.
    Output,
    /// Memory in the arena that no transfer reads or writes.
    Arena,
    /// Memory in the arena that transfers read or write.
    Exchange,
}

impl Home {
    /// Whether the buffer is in the arena, not in the user's memory.
    pub fn is_arena(self) -> bool {
        matches!(self, Home::Arena | Home::Exchange)
    }
}

/// An operand's contents at the start of a run, or the output's at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferPlacement {
    /// The region that the buffer stores as a dense array.
    pub region: Region,
    /// The stored summand and the number of summands; `(0, 1)` without partial sums.
    pub summand: (usize, usize),
}

/// A row-major array with the given extents.
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
