//! A choice of the innermost and unrolled loops, which builds its [`Nest`].
//!
//! Invariant: the nest depends only on the loops and the element size.

use super::{Dots, Line, NO_LOOP, Nest, OUT, StridedNest};
use crate::local_plan::{Dim, MIN_STREAMED_OUT_BYTES};

/// Maximum terms that a `Line` nest adds to `out` at once.
pub(super) const TERMS: usize = 8;
/// The same if several rows are computed together, and the number of rows.
pub(super) const TILE: usize = 4;
/// Leaves space for other blocks in a first-level cache.
const L1_BLOCK_BYTES: usize = 16 << 10;
/// Minimum bytes in a line for stores that bypass the caches.
const MIN_STREAMED_LINE_BYTES: usize = 1 << 10;
/// A strided nest's block. Strides of powers of two would evict larger ones early.
const BLOCK: [usize; 3] = [16; 3];
/// Maximum block length if one loop has the smallest stride in every tensor.
const MAX_ONLY_LOOP_BLOCK: usize = 256;

#[derive(Debug, Clone, Copy)]
pub(super) struct Loop {
    pub dim: Dim<3>,
    pub sum: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    Line { swapped: bool, lanes: usize, rows: Option<usize>, terms: Option<usize> },
    Dots { swapped: bool, lanes: usize, rows: Option<usize>, cols: Option<usize> },
    Strided,
}

impl Choice {
    pub fn swapped(&self) -> bool {
        matches!(self, Choice::Line { swapped: true, .. } | Choice::Dots { swapped: true, .. })
    }

    /// For a swapped choice, the operands of `loops` are exchanged already.
    pub fn nest(&self, loops: &[Loop], element_bytes: usize) -> Nest {
        let dim = |at: Option<usize>| at.map_or(NO_LOOP, |i| loops[i].dim);
        let rest = |sum: bool, used: [Option<usize>; 3]| -> Vec<Dim<3>> {
            let unused = |&i: &usize| loops[i].sum == sum && loops[i].dim.extent > 1 && !used.contains(&Some(i));
            (0..loops.len()).filter(unused).map(|i| loops[i].dim).collect()
        };
        match *self {
            Choice::Line { lanes, rows, terms, .. } => {
                let used = [Some(lanes), rows, terms];
                let mut line = Line {
                    outer: rest(false, used),
                    sum: rest(true, used),
                    terms: dim(terms),
                    rows: dim(rows),
                    lanes: loops[lanes].dim,
                    row_block: dim(rows).extent,
                    chunk: loops[lanes].dim.extent,
                    streams: false,
                };
                line.block(element_bytes);
                Nest::Line(line)
            }
            Choice::Dots { lanes, rows, cols, .. } => {
                let used = [Some(lanes), rows, cols];
                let (rows, cols, lanes) = (dim(rows), dim(cols), loops[lanes].dim);
                let once = rows.strides[1] != 0 || (rows.extent <= TILE && cols.extent == 1);
                let near = if cols.extent == 1 { L1_BLOCK_BYTES } else { L1_BLOCK_BYTES / 2 };
                let chunk = if once { lanes.extent } else { near / element_bytes };
                let chunk = chunk.min(lanes.extent);
                Nest::Dots(Dots { outer: rest(false, used), sum: rest(true, used), rows, cols, lanes, chunk })
            }
            Choice::Strided => Nest::Strided(strided(loops)),
        }
    }
}

impl Line {
    fn block(&mut self, element_bytes: usize) {
        let terms = self.terms.extent;
        let (rows, lanes) = (self.rows.extent, self.lanes.extent);
        let shares_first = self.rows.strides[0] == 0 && rows > 1;
        let most = if shares_first { TILE } else { TERMS };
        let once = self.sum.is_empty() && terms.is_power_of_two() && terms <= most;
        if !once {
            // `out` is accessed several times, so a block must stay cached with the terms that all rows share.
            let bytes = if rows > 1 { L1_BLOCK_BYTES / 4 } else { L1_BLOCK_BYTES };
            self.chunk = lanes.min(bytes / element_bytes);
            self.row_block = rows.min((2 * L1_BLOCK_BYTES / (self.chunk * element_bytes)).max(TILE));
        } else {
            if shares_first {
                self.chunk = lanes.min(L1_BLOCK_BYTES / terms / element_bytes);
            }
            let outer: usize = self.outer.iter().map(|d| d.extent).product();
            let bytes = outer.saturating_mul(rows).saturating_mul(lanes).saturating_mul(element_bytes);
            self.streams = bytes >= MIN_STREAMED_OUT_BYTES && self.chunk * element_bytes >= MIN_STREAMED_LINE_BYTES;
        }
    }
}

fn strided(loops: &[Loop]) -> StridedNest {
    let nearest = |t: usize| {
        let moving = (0..loops.len()).filter(move |&i| loops[i].dim.strides[t] != 0 && loops[i].dim.extent > 1);
        moving.min_by_key(|&i| loops[i].dim.strides[t].unsigned_abs())
    };
    let mut picked: Vec<usize> = Vec::new();
    for at in (0..3).filter_map(nearest) {
        if !picked.contains(&at) {
            picked.push(at);
        }
    }
    // The innermost loop has small strides in the most tensors, then stride 1 in `out`, because stores cost most.
    picked.sort_by_key(|&i| {
        let strides = loops[i].dim.strides;
        (strides.iter().filter(|s| s.abs() <= 1).count(), strides[OUT].abs() == 1)
    });
    let full = |i: usize| {
        let Loop { dim: Dim { extent, strides: [a, b, o] }, sum } = loops[i];
        Dim { extent, strides: [a, b, o, isize::from(sum)] }
    };
    let mut blocked = [Dim { extent: 1, strides: [0; 4] }; 3];
    let mut sizes = BLOCK;
    for (to, &from) in blocked.iter_mut().rev().zip(picked.iter().rev()) {
        *to = full(from);
    }
    if picked.len() == 1 {
        sizes[2] = blocked[2].extent.min(MAX_ONLY_LOOP_BLOCK);
    }
    let rest = |sum: bool| -> Vec<Dim<4>> {
        let unused = |&i: &usize| loops[i].sum == sum && !picked.contains(&i) && loops[i].dim.extent > 1;
        (0..loops.len()).filter(unused).map(full).collect()
    };
    StridedNest { outer: rest(false), sum: rest(true), blocked, sizes }
}
