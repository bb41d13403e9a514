//! Estimates the nanoseconds of loops on a current core: arithmetic, loop starts and memory traffic.
//!
//! The constants were fitted on one machine with vectors of 32 bytes.

use super::choice::{Choice, Loop, TERMS, TILE};
use super::{Dim, Nest, OUT};
use crate::dtype::Dtype;
use crate::local_plan::CACHE_LINE;

/// Time to multiply and add one vector, and to load or store one in the first-level cache.
const VECTOR_STEP: f64 = 0.2;
const VECTOR_TOUCH: f64 = 0.15;
/// A complex vector's multiply-add, relative to a real one.
const COMPLEX: f64 = 2.5;
const VECTOR_BYTES: usize = 32;
/// Time to start a line or a tile, and to add up a vector's lanes.
const START: f64 = 4.0;
const ACROSS: f64 = 4.0;
/// The same for each of several rows of one column and few terms.
const ACROSS_SHORT: f64 = 1.6;
/// Maximum vectors in such a row.
const MAX_SHORT: f64 = 8.0;
/// Time for one step of a loop over single elements.
const STEP: f64 = 0.6;
const CALL: f64 = 15.0;
/// Time to move a byte between the core and the second-level cache, and memory.
const L2_BYTE: f64 = 0.02;
const MEMORY_BYTE: f64 = 0.09;
const L1_BYTES: f64 = 32.0 * 1024.0;
const L2_BYTES: f64 = 1024.0 * 1024.0;
/// Time to wake another thread and wait for it.
const THREAD: f64 = 4_000.0;
/// With fewer per thread, another saves no time.
const MIN_NANOSECONDS_PER_THREAD: f64 = 12_000.0;
/// Time to add a partial result's element to `out`.
const ADDING: f64 = 1.0;

pub(in super::super) fn useful_threads(price: f64, threads: usize) -> usize {
    threads.min((price / MIN_NANOSECONDS_PER_THREAD) as usize).max(1)
}

/// On `threads` threads, from the price on one and the elements in all partial results (`added`).
pub(in super::super) fn shared(price: f64, threads: usize, added: usize) -> f64 {
    let threads_start = if threads > 1 { THREAD } else { 0.0 };
    price / threads as f64 + threads_start + added as f64 * ADDING
}

/// A choice's price on one thread, before operands are exchanged: of the work, and of the traffic.
pub(super) fn nest(loops: &[Loop], choice: &Choice, dtype: Dtype) -> [f64; 2] {
    let element_bytes = dtype.size();
    let step = VECTOR_STEP * if dtype.is_complex() { COMPLEX } else { 1.0 };
    let vectors = |lanes: usize| (lanes * element_bytes).div_ceil(VECTOR_BYTES) as f64;
    let product = |dims: &[Dim<3>]| dims.iter().map(|d| d.extent as f64).product::<f64>();
    let mut loops = loops.to_vec();
    if choice.swapped() {
        loops.iter_mut().for_each(|l| l.dim.strides.swap(0, 1));
    }
    let (outer, work) = match choice.nest(&loops, element_bytes) {
        Nest::Line(line) => {
            let shares_first = line.rows.strides[0] == 0;
            let tiled = if shares_first { line.rows.extent / TILE } else { 0 };
            let single = line.rows.extent - tiled * TILE;
            let groups = |terms: usize| line.terms.extent.div_ceil(terms) as f64;
            let lanes = vectors(line.lanes.extent);
            let pass = |terms: usize, rows: f64| {
                let touches = rows * groups(terms) * 2.0 + line.terms.extent as f64;
                let factors = rows * line.terms.extent as f64;
                groups(terms) * START + factors * 0.5 + lanes * (touches * VECTOR_TOUCH + factors * step)
            };
            let block = tiled as f64 * pass(TILE, TILE as f64) + single as f64 * pass(TERMS, 1.0);
            let blocks = product(&line.outer) * product(&line.sum);
            (line.outer, blocks * (START + block))
        }
        Nest::Dots(dots) => {
            let is_short = dots.cols.extent == 1
                && dots.rows.extent > TILE
                && dots.sum.is_empty()
                && !dtype.is_complex()
                && vectors(dots.lanes.extent) <= MAX_SHORT;
            let (tile, across) = if is_short { (VECTOR_BYTES / element_bytes, ACROSS_SHORT) } else { (TILE, ACROSS) };
            let (rows, cols) = (dots.rows.extent.min(tile) as f64, dots.cols.extent.min(3) as f64);
            let tiles = (dots.rows.extent as f64 / rows) * (dots.cols.extent as f64 / cols) * product(&dots.outer);
            let chunks = dots.lanes.extent.div_ceil(dots.chunk) as f64;
            let steps = vectors(dots.lanes.extent) * product(&dots.sum);
            let each = rows * cols * step + (rows + cols) * VECTOR_TOUCH;
            let ends = chunks * (START + rows * cols * across) + product(&dots.sum) * START;
            (dots.outer, tiles * (ends + steps * each))
        }
        Nest::Strided(nest) => {
            let steps: f64 = loops.iter().map(|l| l.dim.extent as f64).product();
            let inner = nest.blocked[2].extent.min(nest.sizes[2]) as f64;
            (Vec::new(), steps * (STEP + 3.0 * START / inner))
        }
    };
    [CALL + work, memory(&loops, &outer, element_bytes)]
}

fn memory(loops: &[Loop], outer: &[Dim<3>], element_bytes: usize) -> f64 {
    let bytes = |t: usize| -> f64 {
        let moving = loops.iter().filter(|l| l.dim.strides[t] != 0);
        let elements: f64 = moving.clone().map(|l| l.dim.extent as f64).product();
        let step = moving.map(|l| l.dim.strides[t].unsigned_abs()).min().unwrap_or(1);
        let whole = elements * (element_bytes * step.min((CACHE_LINE / element_bytes).max(1))) as f64;
        let moving_outer: f64 = outer.iter().filter(|d| d.strides[t] != 0).map(|d| d.extent as f64).product();
        let again: f64 = outer.iter().filter(|d| d.strides[t] == 0).map(|d| d.extent as f64).product();
        let again = if whole / moving_outer > L2_BYTES { again } else { 1.0 };
        whole * again * if t == OUT { 2.0 } else { 1.0 }
    };
    let bytes: f64 = (0..3).map(bytes).sum();
    match bytes {
        near if near <= L1_BYTES => 0.0,
        middle if middle <= L2_BYTES => middle * L2_BYTE,
        far => far * MEMORY_BYTE,
    }
}
