//! How threads share the boxes: a grid over batches, row boxes and column boxes.
//!
//! Each share packs for itself and waits for nobody. Invariant: shares are disjoint and cover all boxes.

use std::ops::Range;

use super::AxisDim;
use super::choose::Candidate;
use crate::local::target::WORTH_THREADS;

/// How many parts batches, row boxes and column boxes are cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub parts: [usize; 3],
}

impl Grid {
    pub fn shares(&self) -> usize {
        self.parts.iter().product()
    }

    /// What a share has of batches, row boxes and column boxes, of which there are `counts`.
    pub fn share(&self, number: usize, counts: [usize; 3]) -> [Range<usize>; 3] {
        let [_, rows, cols] = self.parts;
        let at = [number / (rows * cols), number / cols % rows, number % cols];
        [0, 1, 2].map(|i| counts[i] * at[i] / self.parts[i]..counts[i] * (at[i] + 1) / self.parts[i])
    }
}

/// The grid that leaves threads least idle and packs least twice, and the candidate with boxes small enough for it.
pub(super) fn grid(mut candidate: Candidate, lanes: usize, threads: usize) -> (Grid, Candidate) {
    let size = |dims: &[AxisDim]| dims.iter().map(|d| d.extent as f64).product::<f64>();
    let (rows, cols, depth) = (size(&candidate.rows), size(&candidate.cols), size(&candidate.depth));
    let one = Grid { parts: [1; 3] };
    if threads <= 1 || candidate.batches * rows * cols * depth < WORTH_THREADS {
        return (one, candidate);
    }
    let batches = (candidate.batches / candidate.slab.size as f64).ceil();
    let mr = candidate.vectors * lanes;
    let mut best: Option<(f64, [usize; 3])> = None;
    for by_batch in 1..=threads {
        for by_rows in 1..=threads / by_batch {
            let by_cols = threads / by_batch / by_rows;
            let parts = [by_batch, by_rows, by_cols];
            let idle = |extent: f64, unit: f64, parts: usize| {
                let pieces = (extent / unit).ceil();
                (pieces / parts as f64).ceil() * parts as f64 / pieces
            };
            let used = threads as f64 / parts.iter().product::<usize>() as f64;
            let waste = used
                * idle(batches, 1.0, by_batch)
                * idle(rows, mr as f64, by_rows)
                * idle(cols, candidate.columns as f64, by_cols);
            // A column is packed in `by_rows` shares and used for the rows of one.
            let packed = PACK_STEPS * (by_rows as f64 / rows + by_cols as f64 / cols);
            let price = waste * (1.0 + packed);
            if best.is_none_or(|(least, _)| price < least) {
                best = Some((price, parts));
            }
        }
    }
    let parts = best.map_or([1; 3], |(_, parts)| parts);
    split(&mut candidate.rows, parts[1], mr);
    split(&mut candidate.cols, parts[2], candidate.columns);
    (Grid { parts }, candidate)
}

/// Multiply-adds of one row and column that take as long as packing an element.
const PACK_STEPS: f64 = 24.0;

/// Makes tiles smaller until there are enough boxes for every part, and about as many for each.
fn split(dims: &mut [AxisDim], parts: usize, unit: usize) {
    let boxes = |dims: &[AxisDim]| dims.iter().map(|d| d.extent.div_ceil(d.tile)).product::<usize>();
    let idle = |boxes: usize| (boxes.div_ceil(parts) * parts) as f64 / boxes as f64;
    if parts == 1 || idle(boxes(dims)) < 1.03 {
        return;
    }
    // The slowest dimension that can be cut fine enough, then the others.
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
