//! Iterates over the blocks of a share.

use crate::local_plan::{Permute, Side};

/// 64 loops of extent 2 or more fill an address space, and 2 step through blocks.
const MAX_LOOPS: usize = 66;

/// `visit` receives a block's offsets and its numbers of columns and rows, in widened elements ([`Permute::widened`]).
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

#[inline(always)]
pub(super) fn offsets<const LEN: usize>(side: &Side, tensor: usize, scale: usize) -> [isize; LEN] {
    let mut table = [0; LEN];
    let mut count = 1;
    for dim in side.loops.iter() {
        let stride = dim.strides[tensor] * scale as isize;
        for at in count..(count * dim.extent).min(LEN) {
            table[at] = table[at - count] + stride;
        }
        count *= dim.extent;
    }
    table
}
