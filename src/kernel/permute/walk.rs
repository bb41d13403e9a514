//! The blocks of a share, one after the other.

use crate::local_plan::{Permute, Side};

/// More loops than a plan can have: the loops of at least two indices for which an address space has room, and the two
/// that step through blocks.
const MAX_LOOPS: usize = 66;

/// Visits the blocks of a share. `visit` gets the offsets of a block's first element, counted in elements as the plan
/// moves them, and the numbers of columns and rows.
#[inline(always)]
pub(super) fn blocks(plan: &Permute, share: usize, mut visit: impl FnMut([isize; 2], [usize; 2])) {
    let blocks = plan.blocks();
    let (outer, range) = (&blocks.outer[..], plan.share(share));
    assert!(outer.len() <= MAX_LOOPS, "{} loops over distinct elements", outer.len());
    let mut index = [0usize; MAX_LOOPS];
    let mut offset = [0isize; 2];
    let mut rest = range.start;
    for (at, dim) in outer.iter().enumerate().rev() {
        index[at] = rest % dim.extent;
        rest /= dim.extent;
        (0..2).for_each(|t| offset[t] += index[at] as isize * dim.strides[t]);
    }
    for _ in range {
        visit(offset, [&blocks.cols, &blocks.rows].map(|side| side.count(index[side.outer])));
        for (at, dim) in outer.iter().enumerate().rev() {
            index[at] += 1;
            if index[at] < dim.extent {
                (0..2).for_each(|t| offset[t] += dim.strides[t]);
                break;
            }
            index[at] = 0;
            (0..2).for_each(|t| offset[t] -= dim.strides[t] * (dim.extent as isize - 1));
        }
    }
}

/// The offsets in one tensor of the columns or rows of a block, at most `LEN`, times `parts`, innermost loop first.
#[inline(always)]
pub(super) fn offsets<const LEN: usize>(side: &Side, tensor: usize, parts: usize) -> [isize; LEN] {
    let mut table = [0; LEN];
    let mut count = 1;
    for dim in side.loops.iter() {
        let stride = dim.strides[tensor] * parts as isize;
        for at in count..(count * dim.extent).min(LEN) {
            table[at] = table[at - count] + stride;
        }
        count *= dim.extent;
    }
    table
}
