//! Estimates the cost of a candidate, in nanoseconds of one thread on a present-day core. The estimate only ranks
//! candidates, and decides whether plain loops are better.

use super::axis::run_of_box;
use super::choose::Candidate;
use super::footprint::{Footprint, PAGE};
use super::{Access, AxisDim, OutAccess, PackBy, cycles_of_step};
use crate::dtype::Dtype;
use crate::local_plan::{CACHE_LINE, Target};

/// The factor by which threads slow each other down.
pub(super) const PARALLEL_LOSS: f64 = 1.05;
const CYCLE: f64 = 0.36;
/// Nanoseconds per byte from memory, and from the cache.
const MEMORY: f64 = 0.08;
const CACHE: f64 = 0.02;
/// Starting a box, and one call of a micro-kernel, in cycles.
const BOX: f64 = 60.0;
const CALL: f64 = 14.0;
/// Packing one element, in nanoseconds: copied in vectors, transposed in registers, or alone.
const COPIED: f64 = 0.04;
const TRANSPOSED: f64 = 0.14;
const ALONE: f64 = 0.9;
/// Transposing an element that is in no cache, with each row on a page of its own.
const FAR_TRANSPOSED: f64 = 0.5;
/// Most lines of a cache set that columns may occupy: half of the ways that a first-level cache has at least.
const CROWD: usize = 4;
/// Writing an element from a register tile in memory to its place in a run.
const SCATTERED: f64 = 0.15;
/// Writing to a different page than before, in nanoseconds.
const NEW_PAGE: f64 = 3.0;
/// Reading uncached data from a different page than before, in nanoseconds: it has not been prefetched.
const FAR_PAGE: f64 = 30.0;
/// The fraction of that which remains for a packed operand, as packing prefetches some of it.
const PACKED_AHEAD: f64 = 0.6;
/// Writing from a copy to a different place than before that is in no cache.
const FAR_WRITE: f64 = 10.0;
/// The overhead of each run of a copy.
const RUN: f64 = 1.2;

pub(super) fn price(candidate: &Candidate, dtype: Dtype, target: &Target) -> f64 {
    let lanes = target.lanes(dtype);
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let element = dtype.size() as f64;
    let word = (element / 4.0).max(1.0);
    let all = |dims: &[AxisDim]| dims.iter().map(|d| d.extent as f64).product::<f64>();
    let tile = |dims: &[AxisDim]| dims.iter().map(|d| d.tile).product::<usize>();
    let boxes = |dims: &[AxisDim]| dims.iter().map(|d| d.extent.div_ceil(d.tile) as f64).product::<f64>();
    let (rows, cols, depth) = (all(&candidate.rows), all(&candidate.cols), all(&candidate.depth));
    let (mc, nc, kc) = (tile(&candidate.rows), tile(&candidate.cols), tile(&candidate.depth));
    let (row_boxes, col_boxes, depth_boxes) = (boxes(&candidate.rows), boxes(&candidate.cols), boxes(&candidate.depth));
    let batches = candidate.batches;

    // One box.
    let cycles = |v: usize, n: usize| {
        let n = n * parts;
        kc as f64 * cycles_of_step(v, n) + CALL + (v * n) as f64
    };
    let mr = lanes * candidate.vectors;
    let box_run = |dims: &[AxisDim], tensors| run_of_box(dims, |i| dims[i].tile, tensors);
    let row_run = box_run(&candidate.rows, candidate.runs[0]);
    let col_run = box_run(&candidate.cols, candidate.runs[1]);
    let (full, last) = ((row_run / mr) as f64, (row_run % mr).div_ceil(lanes));
    let row_runs = (mc / row_run) as f64;
    let tall =
        |n: usize| row_runs * (full * cycles(candidate.vectors, n) + if last > 0 { cycles(last, n) } else { 0.0 });
    let (whole, rest) = ((col_run / candidate.columns) as f64, col_run % candidate.columns);
    let wide = whole * tall(candidate.columns) + if rest > 0 { tall(rest) } else { 0.0 };
    let product = (nc / col_run) as f64 * wide;
    // The number of boxes, in units of whole ones.
    let fractions = rows / mc as f64 * (cols / nc as f64) * (depth / kc as f64);
    let count = row_boxes * col_boxes * depth_boxes;
    let mut total = batches * CYCLE * (product * fractions + BOX * count / candidate.slab.size as f64);

    // The operands.
    let reads = [rows * depth, cols * depth].map(|elements| elements * batches);
    let passes = [if row_boxes * depth_boxes == 1.0 { 1.0 } else { col_boxes }, 1.0];
    let cached = (reads[0] + reads[1] + rows * cols * batches) * element < target.caches.l2 as f64;
    let line = CACHE_LINE / dtype.size();
    let mut traffic = 0.0;
    for operand in 0..2 {
        let axis = if operand == 0 { &candidate.rows } else { &candidate.cols };
        let run = axis.first().map_or(1, |d| d.tile) as f64;
        let unit_tile = |dims: &[AxisDim], t: usize| dims.iter().find(|d| d.strides[t] == 1).map_or(1, |d| d.tile);
        let neighbours = match candidate.access[operand] {
            Access::Packed(PackBy::Depth) => unit_tile(&candidate.depth, operand),
            Access::Packed(PackBy::Slab) => candidate.slab.size,
            Access::Packed(PackBy::Elements) => 1,
            Access::Packed(_) => unit_tile(axis, 0),
            Access::InPlace => unit_tile(axis, 0).max(unit_tile(&candidate.depth, operand)),
        } as f64;
        let footprint = Footprint::new([axis, &candidate.depth], [0, operand]).and(&candidate.slab, operand);
        if !cached {
            let (footprint, ahead) = match candidate.access[operand] {
                Access::InPlace if operand == 1 => (&panel_of_columns(candidate), 1.0),
                Access::InPlace => (&footprint, 1.0),
                Access::Packed(_) => (&footprint, passes[operand] * PACKED_AHEAD),
            };
            total += reads[operand] * FAR_PAGE * ahead / footprint.on_one_page(dtype.size());
        }
        let waste = footprint.moved(line);
        traffic += reads[operand] * element * waste * if passes[operand] > 1.0 { 1.5 } else { 1.0 };
        total += match candidate.access[operand] {
            Access::InPlace => {
                let far = strided(candidate, operand, dtype.size());
                reads[operand] * far * if operand == 0 { cols / candidate.columns as f64 } else { rows / mr as f64 }
            }
            Access::Packed(by) => {
                let far_rows =
                    axis.first().is_some_and(|d| d.strides[0].unsigned_abs() as f64 * element >= PAGE as f64);
                let each = match by {
                    PackBy::Runs if operand == 0 => COPIED * word + RUN / run.min(mr as f64),
                    PackBy::Runs => COPIED * word + 2.0 * RUN / run.min(16.0),
                    PackBy::Elements => ALONE * word,
                    PackBy::Across if !cached && far_rows => FAR_TRANSPOSED * word,
                    _ => TRANSPOSED * word * (16.0 / neighbours).max(1.0) * (8.0 / run).max(1.0),
                };
                reads[operand] * passes[operand] * each
            }
        };
    }

    // Out.
    let out = rows * cols * batches;
    let first = candidate.rows.first();
    let run = first.map_or(1.0, |d| if d.strides[1] == 1 { d.tile as f64 } else { 1.0 });
    let dense = candidate.runs[0][1]
        || (run > 1.0 && run % lanes as f64 == 0.0)
        || (run >= rows && first.is_none_or(|d| d.strides[1] == 1));
    let each = match candidate.out {
        OutAccess::Direct if dense => 0.0,
        OutAccess::Direct if run >= 2.0 => SCATTERED * word + 2.0 * RUN / run,
        OutAccess::Direct => ALONE * word,
        OutAccess::Buffered => (COPIED + TRANSPOSED) * word,
    };
    total += out * depth_boxes * each;
    let footprint = Footprint::new([&candidate.rows, &candidate.cols], [1, 1]).and(&candidate.slab, 2);
    let together = footprint.together();
    let column = candidate.cols.first().map_or(0, |d| if d.extent > 1 { d.strides[1].unsigned_abs() } else { 0 });
    let pieces = if candidate.out == OutAccess::Direct && column * dtype.size() >= PAGE {
        // The columns of a tile are on pages of their own.
        NEW_PAGE / run.min(mr as f64)
    } else if !cached && together * dtype.size() < PAGE {
        let each = if candidate.out == OutAccess::Direct { NEW_PAGE } else { FAR_WRITE };
        each / together as f64
    } else {
        0.0
    };
    total += out * depth_boxes * pieces;
    traffic += out * element * footprint.moved(line) * (2.0 * depth_boxes - 1.0).min(8.0);
    total + traffic * if cached { CACHE } else { MEMORY }
}

/// The footprint of a panel of columns that is read in place.
fn panel_of_columns(candidate: &Candidate) -> Footprint {
    let panel = candidate.cols.first().map(|dim| AxisDim { tile: dim.tile.min(candidate.columns), ..*dim });
    Footprint::new([panel.as_slice(), &candidate.depth], [0, 1])
}

/// The extra cost of reading an element in place instead of from a panel, for each panel of the other operand.
fn strided(candidate: &Candidate, operand: usize, element: usize) -> f64 {
    let step = candidate.depth.first().map_or(0, |d| d.strides[operand].unsigned_abs());
    let across = candidate.cols.first().map_or(0, |d| d.strides[0].unsigned_abs());
    if operand == 1 && crowded(across * element, candidate.columns) {
        return 0.06;
    }
    match if operand == 0 { step } else { step.min(across * 64) } {
        0..=256 => 0.002,
        257..1024 => 0.006,
        // A few contiguous elements from each page, which have not been prefetched.
        _ if operand == 1 => 0.06,
        _ => 0.02,
    }
}

/// Whether lines `stride` bytes apart share so few sets of the first-level cache that they evict each other. The offset
/// of a line in its page determines its set, on every machine with pages of 4 KB and a common first-level cache.
fn crowded(stride: usize, lines: usize) -> bool {
    let sets = (0..lines).fold(0u64, |sets, i| sets | 1 << (i * stride % PAGE / CACHE_LINE));
    stride > 0 && lines.div_ceil(sets.count_ones().max(1) as usize) > CROWD
}

#[cfg(test)]
mod tests {
    use super::super::Slab;
    use super::*;
    use crate::local_plan::{Caches, Dim, Family, Isa};

    #[test]
    fn lines_a_page_apart_crowd_a_set() {
        assert!(crowded(4096, 12) && crowded(8192, 8) && crowded(2048, 12));
        // Just over a page: successive lines move on to the next set too slowly.
        assert!(crowded(4100, 12));
        // One and the same line, few lines, or many sets.
        assert!(!crowded(0, 12) && !crowded(4096, 4) && !crowded(1000 * 8, 8) && !crowded(512, 12));
    }

    /// Rows of 8 x 32 that are contiguous in out, in boxes of 8 x 5: panels of 48 hold 40 rows, and not those that a
    /// run of 256 would fill them with.
    #[test]
    fn panels_that_end_with_the_runs_of_a_box_are_paid_for() {
        let dim = |extent, tile, strides| AxisDim { extent, tile, strides };
        let of = |tile: usize| Candidate {
            swapped: false,
            batches: 1.0,
            slab: Slab { dim: Dim { extent: 1, strides: [0; 3] }, size: 1 },
            rows: vec![dim(8, 8, [73728, 1]), dim(32, tile, [96, 8]), dim(8, 8, [1, 16384])],
            cols: vec![dim(64, 64, [288, 256]), dim(84, 42, [18432, 131072])],
            depth: vec![dim(24, 24, [3072, 1]), dim(12, 12, [8, 24])],
            runs: [[false, true], [true, false]],
            vectors: 3,
            columns: 8,
            access: [Access::Packed(PackBy::Across), Access::InPlace],
            out: OutAccess::Direct,
            columns_inside: false,
        };
        let caches = Caches { l2: 1 << 20, ..Caches::default() };
        let target = Target { isa: Isa::Avx512, family: Family::Own, caches, threads: 1 };
        let [cut, whole] = [5, 32].map(|tile| price(&of(tile), Dtype::Float32, &target));
        assert!(cut > 1.15 * whole, "{cut} over {whole}");
    }
}
