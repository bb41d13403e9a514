//! Estimates a candidate's nanoseconds on one thread of a current core, to rank candidates, and its effort, to predict
//! run times.

use super::axis::run_of_box;
use super::candidate::Candidate;
use super::footprint::{Footprint, PAGE};
use super::{Access, AxisDim, OutAccess, PackBy, cycles_of_step};
use crate::dtype::Dtype;
use crate::local_plan::{CACHE_LINE, Effort, Target};

pub(super) const PARALLEL_LOSS: f64 = 1.05;
const CYCLE: f64 = 0.36;
/// Nanoseconds per byte from memory and from the second-level cache.
const MEMORY: f64 = 0.08;
const CACHE: f64 = 0.02;
/// Cycles to start a box, and to call a micro-kernel.
const BOX: f64 = 60.0;
const CALL: f64 = 14.0;
/// Nanoseconds to pack an element copied in vectors, transposed in registers, or copied alone.
const COPIED: f64 = 0.04;
const TRANSPOSED: f64 = 0.14;
const GATHERED: f64 = 0.9;
/// Nanoseconds to transpose an uncached element if each row is on a different page.
const UNCACHED_TRANSPOSED: f64 = 0.5;
/// Maximum lines of columns in a cache set, half of the least associativity of first-level caches.
const MAX_LINES_PER_SET: usize = 4;
/// Nanoseconds to copy a register tile's element from a buffer to `out`.
const SCATTERED: f64 = 0.15;
/// Nanoseconds to write to another page.
const NEW_PAGE: f64 = 3.0;
/// Nanoseconds to read uncached data, not prefetched, from another page.
const UNCACHED_PAGE: f64 = 30.0;
/// Fraction of `UNCACHED_PAGE` for a packed operand.
const PACKED_AHEAD: f64 = 0.6;
/// Nanoseconds to start an uncached stretch of `out` from a dense copy.
const UNCACHED_WRITE: f64 = 10.0;
/// Nanoseconds per copied contiguous run.
const RUN: f64 = 1.2;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    pub computing: f64,
    /// Reading each operand from pages that are not prefetched.
    pub pages: [f64; 2],
    pub packing: [f64; 2],
    pub storing: f64,
    pub pieces: f64,
    pub traffic: f64,
}

impl Cost {
    /// In a fixed order, because rounding may decide between equal prices.
    pub fn total(&self) -> f64 {
        let operands = self.pages.iter().zip(&self.packing);
        let read = operands.fold(self.computing, |sum, (pages, packing)| sum + pages + packing);
        read + self.storing + self.pieces + self.traffic
    }
}

/// Ends early if activities already add up to `least`.
pub(super) fn cost(candidate: &Candidate, dtype: Dtype, target: &Target, least: f64) -> Cost {
    let estimate = Estimate::new(candidate, dtype, target);
    let mut cost = Cost { computing: estimate.computing(), ..Cost::default() };
    let byte = if estimate.cached { CACHE } else { MEMORY };
    let mut moved = 0.0;
    for operand in [0, 1] {
        let OperandCost { pages, packing, traffic } = estimate.operand(operand);
        (cost.pages[operand], cost.packing[operand]) = (pages, packing);
        moved += traffic;
        cost.traffic = moved * byte;
        if cost.total() >= least {
            return cost;
        }
    }
    let (storing, pieces, written) = estimate.out();
    Cost { storing, pieces, traffic: (moved + written) * byte, ..cost }
}

/// Storing overlaps with computing, so its traffic does not count.
pub(super) fn effort(candidate: &Candidate, dtype: Dtype, target: &Target, threads: usize) -> Effort {
    let Cost { computing, pages, packing, storing, pieces, .. } = cost(candidate, dtype, target, f64::INFINITY);
    let Estimate { extents: [rows, cols, depth], lanes, element, .. } = Estimate::new(candidate, dtype, target);
    let parts = if dtype.is_complex() { 2.0 } else { 1.0 };
    let least = CYCLE * candidate.batches * rows * cols * depth * parts / (2 * lanes) as f64;
    Effort {
        slowdown: 0.93 * computing / least,
        nanoseconds: 0.39 * packing.iter().sum::<f64>()
            + 0.1 * pages.iter().sum::<f64>()
            + 3.5 * storing
            + 0.6 * pieces,
        bytes: candidate.batches * (rows + cols) * depth * element,
        hidden: 0.0,
        threads,
    }
}

struct Estimate<'a> {
    candidate: &'a Candidate,
    dtype: Dtype,
    lanes: usize,
    element: f64,
    word: f64,
    mr: usize,
    /// The order of each is rows, columns, depth; `tiles` are the extents of a box.
    extents: [f64; 3],
    boxes: [f64; 3],
    tiles: [usize; 3],
    cached: bool,
}

struct OperandCost {
    pages: f64,
    packing: f64,
    traffic: f64,
}

impl<'a> Estimate<'a> {
    fn new(candidate: &'a Candidate, dtype: Dtype, target: &Target) -> Self {
        let axes = [&candidate.rows, &candidate.cols, &candidate.depth];
        let extents = axes.map(|dims| dims.iter().map(|d| d.extent as f64).product::<f64>());
        let element = dtype.size() as f64;
        let [rows, cols, depth] = extents;
        let [left, right] = [rows * depth, cols * depth].map(|elements| elements * candidate.batches);
        Estimate {
            candidate,
            dtype,
            lanes: target.lanes(dtype),
            element,
            word: (element / 4.0).max(1.0),
            mr: target.lanes(dtype) * candidate.vectors,
            extents,
            boxes: axes.map(|dims| dims.iter().map(|d| d.extent.div_ceil(d.tile) as f64).product::<f64>()),
            tiles: axes.map(|dims| dims.iter().map(|d| d.tile).product()),
            cached: (left + right + rows * cols * candidate.batches) * element < target.caches.l2 as f64,
        }
    }

    fn computing(&self) -> f64 {
        let Candidate { vectors, columns, batches, .. } = *self.candidate;
        let parts = if self.dtype.is_complex() { 2 } else { 1 };
        let [mc, nc, kc] = self.tiles;
        let cycles = |v: usize, n: usize| {
            let n = n * parts;
            kc as f64 * cycles_of_step(v, n) + CALL + (v * n) as f64
        };
        let box_run = |dims: &[AxisDim], tensors| run_of_box(dims, |i| dims[i].tile, tensors);
        let row_run = box_run(&self.candidate.rows, self.candidate.runs[0]);
        let col_run = box_run(&self.candidate.cols, self.candidate.runs[1]);
        let (full, last) = ((row_run / self.mr) as f64, (row_run % self.mr).div_ceil(self.lanes));
        let row_runs = (mc / row_run) as f64;
        let tall = |n: usize| row_runs * (full * cycles(vectors, n) + if last > 0 { cycles(last, n) } else { 0.0 });
        let (whole, rest) = ((col_run / columns) as f64, col_run % columns);
        let wide = whole * tall(columns) + if rest > 0 { tall(rest) } else { 0.0 };
        let product = (nc / col_run) as f64 * wide;
        let [rows, cols, depth] = self.extents;
        let fractions = rows / mc as f64 * (cols / nc as f64) * (depth / kc as f64);
        let [row_boxes, col_boxes, depth_boxes] = self.boxes;
        let count = row_boxes * col_boxes * depth_boxes;
        batches * CYCLE * (product * fractions + BOX * count / self.candidate.slab.size as f64)
    }

    fn operand(&self, operand: usize) -> OperandCost {
        let Candidate { access, depth, slab, columns, batches, .. } = self.candidate;
        let axis = if operand == 0 { &self.candidate.rows } else { &self.candidate.cols };
        let [rows, cols, terms] = self.extents;
        let [row_boxes, col_boxes, depth_boxes] = self.boxes;
        let reads = [rows * terms, cols * terms][operand] * batches;
        let passes = if operand == 0 && row_boxes * depth_boxes != 1.0 { col_boxes } else { 1.0 };
        let footprint = Footprint::new([axis, depth], [0, operand]).and(slab, operand);
        let waste = footprint.moved(CACHE_LINE / self.dtype.size());
        let traffic = reads * self.element * waste * if passes > 1.0 { 1.5 } else { 1.0 };
        let pages = if self.cached {
            0.0
        } else {
            let panel = axis.first().map(|dim| AxisDim { tile: dim.tile.min(*columns), ..*dim });
            let (footprint, ahead) = match access[operand] {
                Access::InPlace if operand == 1 => (Footprint::new([panel.as_slice(), depth], [0, 1]), 1.0),
                Access::InPlace => (footprint, 1.0),
                Access::Packed(_) => (footprint, passes * PACKED_AHEAD),
            };
            reads * UNCACHED_PAGE * ahead / footprint.on_one_page(self.dtype.size())
        };
        let packing = match access[operand] {
            Access::InPlace => {
                let far = strided(self.candidate, operand, self.dtype.size());
                reads * far * if operand == 0 { cols / *columns as f64 } else { rows / self.mr as f64 }
            }
            Access::Packed(by) => reads * passes * self.packing(operand, by),
        };
        OperandCost { pages, packing, traffic }
    }

    fn packing(&self, operand: usize, by: PackBy) -> f64 {
        let Candidate { depth, slab, .. } = self.candidate;
        let axis = if operand == 0 { &self.candidate.rows } else { &self.candidate.cols };
        let run = axis.first().map_or(1, |d| d.tile) as f64;
        let unit_tile = |dims: &[AxisDim], t: usize| dims.iter().find(|d| d.strides[t] == 1).map_or(1, |d| d.tile);
        let neighbours = match by {
            PackBy::Depth => unit_tile(depth, operand),
            PackBy::Slab => slab.size,
            PackBy::Elements => 1,
            PackBy::Runs | PackBy::Across => unit_tile(axis, 0),
        } as f64;
        let far_rows = axis.first().is_some_and(|d| d.strides[0].unsigned_abs() as f64 * self.element >= PAGE as f64);
        match by {
            PackBy::Runs if operand == 0 => COPIED * self.word + RUN / run.min(self.mr as f64),
            PackBy::Runs => COPIED * self.word + 2.0 * RUN / run.min(16.0),
            PackBy::Elements => GATHERED * self.word,
            PackBy::Across if !self.cached && far_rows => UNCACHED_TRANSPOSED * self.word,
            _ => TRANSPOSED * self.word * (16.0 / neighbours).max(1.0) * (8.0 / run).max(1.0),
        }
    }

    /// Nanoseconds to store the elements of `out` and to start its contiguous pieces, and the bytes of traffic.
    fn out(&self) -> (f64, f64, f64) {
        let Candidate { rows, cols, runs, out: access, slab, .. } = self.candidate;
        let depth_boxes = self.boxes[2];
        let elements = self.extents[0] * self.extents[1] * self.candidate.batches;
        let first = rows.first();
        let run = first.map_or(1.0, |d| if d.strides[1] == 1 { d.tile as f64 } else { 1.0 });
        let dense = runs[0][1]
            || (run > 1.0 && run % self.lanes as f64 == 0.0)
            || (run >= self.extents[0] && first.is_none_or(|d| d.strides[1] == 1));
        let each = match access {
            OutAccess::Direct if dense => 0.0,
            OutAccess::Direct if run >= 2.0 => SCATTERED * self.word + 2.0 * RUN / run,
            OutAccess::Direct => GATHERED * self.word,
            OutAccess::Buffered => (COPIED + TRANSPOSED) * self.word,
        };
        let size = self.dtype.size();
        let footprint = Footprint::new([rows, cols], [1, 1]).and(slab, 2);
        let contiguous = footprint.contiguous();
        let column = cols.first().map_or(0, |d| if d.extent > 1 { d.strides[1].unsigned_abs() } else { 0 });
        let piece = if *access == OutAccess::Direct && column * size >= PAGE {
            NEW_PAGE / run.min(self.mr as f64)
        } else if !self.cached && contiguous * size < PAGE {
            let each = if *access == OutAccess::Direct { NEW_PAGE } else { UNCACHED_WRITE };
            each / contiguous as f64
        } else {
            0.0
        };
        let passes = (2.0 * depth_boxes - 1.0).min(8.0);
        let traffic = elements * self.element * footprint.moved(CACHE_LINE / size) * passes;
        (elements * depth_boxes * each, elements * depth_boxes * piece, traffic)
    }
}

/// Extra nanoseconds, per panel of the other operand, to read an element in place.
fn strided(candidate: &Candidate, operand: usize, element: usize) -> f64 {
    let step = candidate.depth.first().map_or(0, |d| d.strides[operand].unsigned_abs());
    let across = candidate.cols.first().map_or(0, |d| d.strides[0].unsigned_abs());
    if operand == 1 && crowded(across * element, candidate.columns) {
        return 0.06;
    }
    match if operand == 0 { step } else { step.min(across * 64) } {
        0..=256 => 0.002,
        257..1024 => 0.006,
        // Pages have few contiguous elements, not prefetched.
        _ if operand == 1 => 0.06,
        _ => 0.02,
    }
}

/// Whether cache lines `stride` bytes apart evict each other from the first-level cache: usually a line's offset in its
/// page determines its set.
fn crowded(stride: usize, lines: usize) -> bool {
    let sets = (0..lines).fold(0u64, |sets, i| sets | 1 << (i * stride % PAGE / CACHE_LINE));
    stride > 0 && lines.div_ceil(sets.count_ones().max(1) as usize) > MAX_LINES_PER_SET
}

#[cfg(test)]
mod tests;
