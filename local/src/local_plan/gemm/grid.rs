//! Divides boxes (cache blocks) among threads, one share each, with a grid over batches, row boxes, column boxes and
//! depth boxes.
//!
//! Invariants: shares are disjoint and cover all boxes; those with the same part of the depth write disjoint elements
//! of `out` (first part) or of its partial sum.

use std::ops::Range;

use super::AxisDim;
use super::candidate::Candidate;
use crate::local_plan::target::MIN_PARALLEL_MULTIPLY_ADDS;

/// The number of parts into which batches, row boxes, column boxes and depth boxes are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub parts: [usize; 4],
}

impl Grid {
    pub fn shares(&self) -> usize {
        self.parts.iter().product()
    }

    pub fn depth_part(&self, number: usize) -> usize {
        number % self.parts[3]
    }

    pub fn share(&self, number: usize, counts: [usize; 4]) -> [Range<usize>; 4] {
        let [_, rows, cols, depth] = self.parts;
        let at =
            [number / (rows * cols * depth), number / (cols * depth) % rows, number / depth % cols, number % depth];
        [0, 1, 2, 3].map(|i| counts[i] * at[i] / self.parts[i]..counts[i] * (at[i] + 1) / self.parts[i])
    }
}

/// The grid with the lowest cost of idle threads, repeated packing and partial sums, and a candidate of small enough
/// boxes.
pub(super) fn grid(mut candidate: Candidate, lanes: usize, threads: usize, most_parts: usize) -> (Grid, Candidate) {
    let size = |dims: &[AxisDim]| dims.iter().map(|d| d.extent as f64).product::<f64>();
    let (rows, cols, depth) = (size(&candidate.rows), size(&candidate.cols), size(&candidate.depth));
    let one = Grid { parts: [1; 4] };
    if threads <= 1 || candidate.batches * rows * cols * depth < MIN_PARALLEL_MULTIPLY_ADDS {
        return (one, candidate);
    }
    let batches = (candidate.batches / candidate.slab.size as f64).ceil();
    let mr = candidate.vectors * lanes;
    let depth_boxes = candidate.depth.iter().map(|d| d.extent.div_ceil(d.tile)).product::<usize>();
    let most_parts = most_parts.min(depth_boxes);
    let mut best: Option<(f64, [usize; 4])> = None;
    let mut consider = |parts: [usize; 4]| {
        let idle = |extent: f64, unit: f64, parts: usize| {
            let pieces = (extent / unit).ceil();
            (pieces / parts as f64).ceil() * parts as f64 / pieces
        };
        let [by_batch, by_rows, by_cols, by_depth] = parts;
        let used = threads as f64 / parts.iter().product::<usize>() as f64;
        let waste = used
            * idle(batches, 1.0, by_batch)
            * idle(rows, mr as f64, by_rows)
            * idle(cols, candidate.columns as f64, by_cols)
            * idle(depth_boxes as f64, 1.0, by_depth);
        // Each of `by_rows` shares packs a column for itself.
        let packed = PACK_STEPS * (by_rows as f64 / rows + by_cols as f64 / cols);
        let merged = MERGE_STEPS * (by_depth - 1) as f64 / depth;
        let price = waste * (1.0 + packed + merged);
        if best.is_none_or(|(least, _)| price < least) {
            best = Some((price, parts));
        }
    };
    for by_batch in 1..=threads {
        for by_rows in 1..=threads / by_batch {
            for by_cols in 1..=threads / by_batch / by_rows {
                let others = by_batch * by_rows * by_cols;
                consider([by_batch, by_rows, by_cols, 1]);
                if others < threads && most_parts > 1 {
                    consider([by_batch, by_rows, by_cols, (threads / others).min(most_parts)]);
                }
            }
        }
    }
    let parts = best.map_or([1; 4], |(_, parts)| parts);
    split(&mut candidate.rows, parts[1], mr);
    split(&mut candidate.cols, parts[2], candidate.columns);
    (Grid { parts }, candidate)
}

/// Multiply-adds in the time to pack an element, and to write, read and add one of a partial sum.
const PACK_STEPS: f64 = 24.0;
const MERGE_STEPS: f64 = 128.0;

/// Reduces tiles until each part has at least one box, and about as many as others.
fn split(dims: &mut [AxisDim], parts: usize, unit: usize) {
    let boxes = |dims: &[AxisDim]| dims.iter().map(|d| d.extent.div_ceil(d.tile)).product::<usize>();
    let idle = |boxes: usize| (boxes.div_ceil(parts) * parts) as f64 / boxes as f64;
    if parts == 1 || idle(boxes(dims)) < 1.03 {
        return;
    }
    // The slowest that can be cut finely enough, or else several.
    for i in (0..dims.len()).rev() {
        let unit = if i == 0 { unit } else { 1 };
        let others = boxes(dims) / dims[i].extent.div_ceil(dims[i].tile);
        let now = dims[i].extent.div_ceil(dims[i].tile);
        for pieces in now..=(now * 2).max(4 * parts) {
            let tile = dims[i].extent.div_ceil(pieces).next_multiple_of(unit).min(dims[i].extent);
            if idle(others * dims[i].extent.div_ceil(tile)) < 1.07 {
                dims[i].tile = tile;
                return;
            }
        }
    }
    for i in (0..dims.len()).rev() {
        let unit = if i == 0 { unit } else { 1 };
        if boxes(dims) < parts {
            dims[i].tile = dims[i].extent.div_ceil(parts).next_multiple_of(unit).min(dims[i].extent);
        }
    }
}
