//! The memory for partial sums, with the layout of `out`: of threads that share the depth (summed dimensions), or of
//! halves of a deep sum.
//!
//! Invariants: a partial sum spans all offsets of `out`. Those of threads have at most [`COLUMN_BYTES`] each, and those
//! of halves this or a sixteenth of the operands' memory, unless chains of additions would exceed
//! [`crate::local_plan::longest_chain`].

use super::boxes::COLUMN_BYTES;
use crate::dtype::Dtype;
use crate::local_plan::{Dim, Target};

/// Maximum depth boxes added one after another; `MAX_BOXES` if memory for more partial sums is missing.
const BOXES: usize = 32;
const MAX_BOXES: usize = 128;
/// Partial sums of halves may use the operands' memory divided by this.
const OPERANDS_PER_PARTIAL: usize = 16;

/// In elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    /// From its lowest address to its first element.
    pub first: usize,
    /// From its lowest address to its highest, inclusive.
    pub len: usize,
}

impl Partial {
    pub(super) fn new(dims: &[Vec<Dim<3>>; 4]) -> Partial {
        let mut partial = Partial { first: 0, len: 1 };
        for dim in dims[..3].iter().flatten() {
            let reach = dim.strides[2].unsigned_abs() * (dim.extent - 1);
            partial.len += reach;
            partial.first += if dim.strides[2] < 0 { reach } else { 0 };
        }
        partial
    }

    /// The maximum boxes added one after another, and how often they are halved, given the operands' elements.
    pub(super) fn halves(
        &self,
        boxes: usize,
        parts: usize,
        operands: usize,
        dtype: Dtype,
        target: &Target,
    ) -> (usize, usize) {
        let budget = (target.threads * COLUMN_BYTES / dtype.size()).max(operands / OPERANDS_PER_PARTIAL);
        let mut levels = 0;
        let more = |levels: usize| match boxes.div_ceil(1 << levels).div_ceil(parts) {
            boxes if boxes <= BOXES => false,
            boxes if boxes <= MAX_BOXES => (levels + 1).saturating_mul(self.len) <= budget,
            _ => true,
        };
        while more(levels) {
            levels += 1;
        }
        (boxes.div_ceil(1 << levels), levels)
    }

    /// Maximum parts of the depth, the first without a partial sum.
    pub(super) fn most_parts(&self, element_bytes: usize, threads: usize) -> usize {
        1 + threads.saturating_mul(COLUMN_BYTES) / self.len.saturating_mul(element_bytes)
    }
}

#[cfg(test)]
mod tests;
