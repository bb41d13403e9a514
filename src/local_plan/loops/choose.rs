//! Chooses the innermost loop and the loops of which several indices are computed at once, and builds the [`Nest`] of
//! given loops.

use super::{Dots, Line, NO_LOOP, Nest, OUT, StridedNest, price};
use crate::dtype::Dtype;
use crate::local_plan::{Dim, MIN_STREAMED_OUT_BYTES};

/// Terms of a sum that a line adds at once.
pub(super) const TERMS: usize = 8;
/// The same if several rows are computed at once, and the number of these rows.
pub(super) const TILE: usize = 4;
/// Bytes of a block that shares a first-level cache with other blocks of this size.
const L1_BLOCK_BYTES: usize = 16 << 10;
/// Lines of fewer bytes are not written past the caches, as their ends are not whole cache lines.
const MIN_STREAMED_LINE_BYTES: usize = 1 << 10;
/// Extents of a block that is traversed against the layout of some tensor. No larger, as strides that are powers of two
/// map to few cache sets.
const BLOCK: [usize; 3] = [16; 3];

/// Longest block of the only loop, which is traversed in order.
const MAX_ONLY_LOOP_BLOCK: usize = 256;

/// One loop of the contraction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loop {
    pub dim: Dim<3>,
    pub sum: bool,
}

/// The choice of the innermost loops, as indices into the loops.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    Line { swapped: bool, lanes: usize, rows: Option<usize>, terms: Option<usize> },
    Dots { swapped: bool, lanes: usize, rows: Option<usize>, cols: Option<usize> },
    Strided,
}

/// Returns the start offsets and all loops, each in the direction in which most of its strides are positive.
pub(super) fn oriented(dims: &[Vec<Dim<3>>; 4]) -> ([isize; 3], Vec<Loop>) {
    let mut start = [0; 3];
    let mut loops = Vec::with_capacity(dims.iter().map(Vec::len).sum());
    for (kind, dims) in dims.iter().enumerate() {
        for dim in dims {
            let mut dim = *dim;
            debug_assert!(dim.extent > 0);
            if dim.strides.iter().map(|s| s.signum()).sum::<isize>() < 0 {
                (0..3).for_each(|t| start[t] += dim.strides[t] * (dim.extent as isize - 1));
                dim.strides = dim.strides.map(|s| -s);
            }
            loops.push(Loop { dim, sum: kind == 3 });
        }
    }
    // Outermost is the loop of largest stride in out; among loops of the sum, in the operands.
    loops.sort_by_key(|l| std::cmp::Reverse((!l.sum, l.dim.strides[OUT].unsigned_abs(), operand_strides(l))));
    (start, loops)
}

fn operand_strides(l: &Loop) -> usize {
    l.dim.strides[0].unsigned_abs().saturating_add(l.dim.strides[1].unsigned_abs())
}

/// The cheapest choice, and its price on one thread in nanoseconds.
pub(super) fn best(loops: &[Loop], dtype: Dtype) -> (Choice, f64) {
    let mut best = (Choice::Strided, price::nest(loops, &Choice::Strided, dtype));
    for (at, l) in loops.iter().enumerate() {
        let choice = match (l.sum, l.dim.strides) {
            (false, [1, 0 | 1, 1]) => line(loops, at, false),
            (false, [0, 1, 1]) => line(loops, at, true),
            (true, [1, 1, 0]) => dots(loops, at),
            _ => continue,
        };
        let price = price::nest(loops, &choice, dtype);
        if price < best.1 {
            best = (choice, price);
        }
    }
    best
}

fn line(loops: &[Loop], lanes: usize, swapped: bool) -> Choice {
    let first = usize::from(swapped);
    let others = |sum: bool| (0..loops.len()).filter(move |&i| i != lanes && loops[i].sum == sum);
    // Loops are in the order of their strides in out, so the last has the smallest.
    let shares_first = |&i: &usize| loops[i].dim.strides[first] == 0;
    let rows = others(false).rfind(shares_first).or_else(|| others(false).next_back());
    let terms = others(true).max_by_key(|&i| {
        let dim = loops[i].dim;
        (dim.extent.min(TERMS), std::cmp::Reverse(dim.strides[first].unsigned_abs()))
    });
    Choice::Line { swapped, lanes, rows, terms }
}

fn dots(loops: &[Loop], lanes: usize) -> Choice {
    let moving = |left: bool, right: bool| {
        let moves = move |i: &usize| {
            let [l, r, _] = loops[*i].dim.strides;
            !loops[*i].sum && (l != 0) == left && (r != 0) == right
        };
        (0..loops.len()).filter(moves).max_by_key(|&i| loops[i].dim.extent)
    };
    let extent = |at: Option<usize>| at.map_or(1, |i| loops[i].dim.extent);
    let (m, n) = (moving(true, false), moving(false, true));
    let (swapped, rows, cols) = if extent(n) > extent(m) { (true, n, m) } else { (false, m, n) };
    // Even without a shared operand, independent dot products hide each other's latency.
    let rows = rows.or_else(|| moving(true, true));
    Choice::Dots { swapped, lanes, rows, cols }
}

impl Choice {
    pub fn swapped(&self) -> bool {
        matches!(self, Choice::Line { swapped: true, .. } | Choice::Dots { swapped: true, .. })
    }

    /// Builds the nest of these loops, whose operands are already exchanged if the choice is swapped.
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
            // Out is touched several times: a block of it stays in the cache, and so do the terms that all its rows
            // share.
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
    // Innermost is the loop that has a stride of at most 1 in the most tensors. Of equals, the one of stride 1 in out
    // is innermost, as stores cost most.
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
