//! A candidate for a plan, and the view of a contraction from which it comes.
//!
//! Invariant: a [`View`] has each dimension once: as a batch loop (kind c), the slab (a batch dimension packed
//! together), or in rows, columns or depth.

use super::axis::AxisDims;
use super::{Access, AxisDim, OutAccess, Slab, cycles_of_step, register_tiles};
use crate::dtype::Dtype;
use crate::local_plan::{CACHE_LINE, Dim, Target};

pub(super) const OUT: usize = 2;

/// A plan without tables and threads.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub swapped: bool,
    pub batches: f64,
    pub slab: Slab,
    pub rows: AxisDims,
    pub cols: AxisDims,
    pub depth: AxisDims,
    /// Tensors in which panels of rows and of columns must be evenly spaced.
    pub runs: [[bool; 2]; 2],
    pub vectors: usize,
    pub columns: usize,
    pub access: [Access; 2],
    pub out: OutAccess,
    pub columns_inside: bool,
}

pub(super) struct View {
    pub swapped: bool,
    pub batch: Vec<Dim<3>>,
    pub slab: Slab,
    pub rows: Vec<AxisDim>,
    pub cols: Vec<AxisDim>,
    pub depth: Vec<AxisDim>,
    pub lanes: usize,
    pub element: usize,
    parts: usize,
    tiles: &'static [(usize, usize)],
    pub l1: usize,
    pub l2: usize,
}

impl View {
    pub fn new(dims: &[Vec<Dim<3>>; 4], swapped: bool, dtype: Dtype, target: &Target) -> View {
        let (a, b) = if swapped { (1, 0) } else { (0, 1) };
        let [c, m, n, k] = dims;
        let (row_dims, col_dims) = if swapped { (n, m) } else { (m, n) };
        let axis = |dims: &[Dim<3>], first: usize, second: usize| -> Vec<AxisDim> {
            dims.iter()
                .map(|d| AxisDim { extent: d.extent, tile: 1, strides: [d.strides[first], d.strides[second]] })
                .collect()
        };
        let mut batch: Vec<Dim<3>> =
            c.iter().map(|d| Dim { extent: d.extent, strides: [d.strides[a], d.strides[b], d.strides[OUT]] }).collect();
        // A batch dimension with stride 1 in some tensor is the slab.
        let adjacent = |d: &Dim<3>| d.strides.iter().filter(|&&s| s == 1).count();
        let slab = (0..batch.len()).filter(|&i| adjacent(&batch[i]) > 0).max_by_key(|&i| adjacent(&batch[i]));
        let slab = slab.map_or(Slab { dim: Dim { extent: 1, strides: [0; 3] }, size: 1 }, |at| {
            let dim = batch.remove(at);
            Slab { size: dim.extent.min(CACHE_LINE / dtype.size()), dim }
        });
        View {
            swapped,
            batch,
            slab,
            rows: axis(row_dims, a, OUT),
            cols: axis(col_dims, b, OUT),
            depth: axis(k, a, b),
            lanes: target.lanes(dtype),
            element: dtype.size(),
            parts: if dtype.is_complex() { 2 } else { 1 },
            tiles: register_tiles(target.isa, target.family, dtype.is_complex()),
            l1: target.caches.l1,
            l2: target.caches.l2,
        }
    }

    /// The register tile with the fewest cycles for these rows and columns, each a length and number of runs.
    pub fn tile(&self, [rows, row_runs]: [usize; 2], [cols, col_runs]: [usize; 2]) -> (usize, usize) {
        let waste = |&(vectors, columns): &(usize, usize)| {
            let columns = balanced(cols, columns);
            let cycles = |v, n| cycles_of_step(v, n * self.parts);
            let (full, last) = (rows / (vectors * self.lanes), (rows % (vectors * self.lanes)).div_ceil(self.lanes));
            let tall = |n: usize| full as f64 * cycles(vectors, n) + if last > 0 { cycles(last, n) } else { 0.0 };
            let (whole, rest) = (cols / columns, cols % columns);
            let one = whole as f64 * tall(columns) + if rest > 0 { tall(rest) } else { 0.0 };
            one * (row_runs * col_runs) as f64
        };
        let best = self.tiles.iter().min_by(|x, y| waste(x).total_cmp(&waste(y)));
        let &(vectors, columns) = best.expect("every instruction set has a tile");
        (vectors, balanced(cols, columns))
    }
}

fn balanced(cols: usize, most: usize) -> usize {
    let panels = cols.div_ceil(most);
    if panels <= 4 { cols.div_ceil(panels) } else { most }
}
