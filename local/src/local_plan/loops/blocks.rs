//! Divides long sums into blocks, each summed by the nest of a share (one thread's work) in a dense buffer, and added
//! pairwise, for small rounding errors.
//!
//! Invariants: blocks visit each index of the sum once. All have the same nest, except the last along the cut loop.
//! Their lengths are those that [`crate::local_plan::longest_chain`] assumes.

use super::choice::{Choice, Loop};
use super::{ALIGN, Nest, OUT, Partials, dense};
use crate::dtype::Dtype;
use crate::local_plan::Dim;
use crate::local_plan::sum::offset;

/// Maximum terms in a block of a [`super::Line`] nest, which adds up to 8 at a time.
const MAX_LINE_TERMS: usize = 512;
/// Maximum vectors (of at least `MIN_VECTOR_BYTES`) in a block of a [`super::Dots`] nest: 128 chains of 64.
const DOTS_VECTORS: usize = 64 * 128;
const MIN_VECTOR_BYTES: usize = 16;
/// Maximum terms in a block of a strided nest.
const MAX_STRIDED_TERMS: usize = 256;

/// Longer blocks begin at multiples of this.
const GRAIN: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumBlocks {
    /// The sum's loops around the blocks, outermost first, with one index per block.
    pub outer: Vec<Dim<3>>,
    pub cut: Dim<3>,
    pub tile: usize,
    pub last: Option<Nest>,
    /// Add the share's sums, in the first buffer after the last block, to `out` or the share's partial result.
    pub sums: Partials,
    /// The start and number of the share's buffers in the workspace, `sums.step` elements apart.
    pub at: usize,
    pub buffers: usize,
}

impl SumBlocks {
    /// Divides a sum too long for one block, and reduces `loops` to one block with dense strides in `out`; `None` if
    /// one suffices.
    pub(super) fn new(loops: &mut [Loop], choice: &Choice, dtype: Dtype, at: usize) -> Option<SumBlocks> {
        let most = terms_of_block(loops, choice, dtype);
        let inner = match *choice {
            Choice::Line { terms, .. } => terms,
            Choice::Dots { lanes, .. } => Some(lanes),
            Choice::Strided => None,
        };
        let nearest = (0..loops.len()).rev().filter(|&i| loops[i].sum && Some(i) != inner);
        let order: Vec<usize> = inner.into_iter().chain(nearest).collect();
        let mut inside = 1usize;
        let cut = order.iter().position(|&i| {
            let fits = inside.saturating_mul(loops[i].dim.extent) <= most;
            inside *= if fits { loops[i].dim.extent } else { 1 };
            !fits
        })?;
        let sums = dense(loops, 0);
        let mut outer: Vec<Dim<3>> = order[cut + 1..].iter().map(|&i| loops[i].dim).collect();
        outer.reverse();
        order[cut + 1..].iter().for_each(|&i| loops[i].dim.extent = 1);
        let whole = loops[order[cut]].dim;
        let max_terms = (most / inside).max(1);
        let even = whole.extent.div_ceil(whole.extent.div_ceil(max_terms));
        let tile = if even > GRAIN { even.next_multiple_of(GRAIN).min(max_terms) } else { even };
        let rest = whole.extent % tile;
        let last = (rest > 0).then(|| {
            loops[order[cut]].dim.extent = rest;
            choice.nest(loops, dtype.size())
        });
        loops[order[cut]].dim.extent = tile;
        let mut blocks = SumBlocks { outer, cut: whole, tile, last, sums, at, buffers: 1 };
        blocks.buffers += blocks.count().next_power_of_two().trailing_zeros() as usize;
        Some(blocks)
    }

    pub fn count(&self) -> usize {
        self.pieces() * self.outer.iter().map(|d| d.extent).product::<usize>()
    }

    fn pieces(&self) -> usize {
        self.cut.extent.div_ceil(self.tile)
    }

    /// A block's offsets in both operands, and whether it ends the cut loop.
    pub fn start(&self, block: usize) -> ([isize; 2], bool) {
        let (piece, rest) = (block / (self.count() / self.pieces()), block % (self.count() / self.pieces()));
        let outer = offset(&self.outer, rest);
        let start = [0, 1].map(|t| outer[t] + self.cut.strides[t] * (piece * self.tile) as isize);
        (start, piece + 1 == self.pieces())
    }

    pub fn workspace_elements(&self) -> usize {
        self.buffers * self.sums.step
    }
}

fn terms_of_block(loops: &[Loop], choice: &Choice, dtype: Dtype) -> usize {
    match choice {
        Choice::Line { .. } => MAX_LINE_TERMS,
        Choice::Dots { lanes, .. } => {
            let line = loops[*lanes].dim.extent;
            DOTS_VECTORS.saturating_mul(line) / line.div_ceil(MIN_VECTOR_BYTES / dtype.size()).max(1)
        }
        Choice::Strided if loops.iter().any(|l| !l.sum && l.dim.extent > 1) => MAX_STRIDED_TERMS,
        // For one number, the nest divides the sum.
        Choice::Strided => usize::MAX,
    }
}

pub(super) fn step(elements: usize) -> usize {
    elements.next_multiple_of(ALIGN)
}

/// Makes the stride in `out` dense (`elements`), and returns the loop with both strides.
pub(super) fn make_dense(dim: &mut Dim<3>, elements: usize) -> Dim<2> {
    let out_loop = Dim { extent: dim.extent, strides: [elements as isize, dim.strides[OUT]] };
    dim.strides[OUT] = elements as isize;
    out_loop
}

#[cfg(test)]
mod tests;
