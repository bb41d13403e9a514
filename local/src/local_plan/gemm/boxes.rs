//! Divides rows, columns and depth into boxes that fit into the caches, for one way to read operands and write `out`
//! (`docs/kernels.md`). The fractions below were measured with AVX2 and AVX-512 (`make bench`).
//!
//! Invariant: a box has at least one register tile of rows and columns.

use smallvec::SmallVec;

use super::axis::{AxisDims, run_dims, run_of_box};
use super::candidate::{Candidate, View};
use super::{Access, AxisDim, OutAccess, PackBy, Slab};
use crate::local_plan::CACHE_LINE;

/// The first-level cache's fraction for a panel of columns (numerator, denominator).
const L1_COLUMNS: (usize, usize) = (3, 5);
/// The same for a box's rows, if sums are short.
const L1_ROWS: (usize, usize) = (1, 3);
/// The same for a panel of rows, if the inner loop is over panels of columns.
const L1_ROW_PANEL: (usize, usize) = (1, 2);
/// The second-level cache's fraction for a box's rows, and any dense copy of `out`.
const L2_ROWS: (usize, usize) = (2, 5);

const MAX_DEPTH: usize = 512;
/// The same if the operands have stride 1 along different dimensions.
const MAX_CROSSED_DEPTH: usize = 896;
/// Minimum depth of a box, because writing `out` more often would cost more than cache misses; `MIN_SLAB_DEPTH` if
/// several [`Slab`] indices are packed together.
const MIN_DEPTH: usize = 64;
const MIN_SLAB_DEPTH: usize = 32;
/// A box's depth is divided by the slab indices packed together, up to this.
const MAX_SLAB_SHARE: usize = 4;
/// More columns count as this many when the rows of a box with a dense copy of `out` are chosen.
const MAX_BUFFERED_COLUMNS: usize = 256;
/// Maximum bytes of packed columns; more would exceed a core's share of the last-level cache.
pub(super) const COLUMN_BYTES: usize = 4 << 20;

fn part(cache: usize, (numerator, denominator): (usize, usize)) -> usize {
    cache * numerator / denominator
}

type Sizes = SmallVec<[usize; 6]>;

pub(super) struct Blocking<'a> {
    view: &'a View,
    rows: &'a [AxisDim],
    cols: &'a [AxisDim],
    depth: &'a [AxisDim],
    in_place: [bool; 2],
    out: OutAccess,
    /// Tensors in which panels of rows and of columns must be evenly spaced.
    runs: [[bool; 2]; 2],
    row_run: usize,
    /// The register tile, vectors by columns.
    vectors: usize,
    columns: usize,
    slab: Slab,
}

impl<'a> Blocking<'a> {
    /// If `even`, panels of rows end where runs (evenly spaced rows) of `out` do.
    pub fn new(
        view: &'a View,
        [rows, cols, depth]: [&'a [AxisDim]; 3],
        in_place: [bool; 2],
        out: OutAccess,
        even: bool,
    ) -> Self {
        let size = |dims: &[AxisDim]| dims.iter().map(|d| d.extent).product::<usize>();
        let runs = [[in_place[0], even], [in_place[1], false]];
        let run = |dims: &[AxisDim], tensors| run_of_box(dims, |i| dims[i].extent, tensors);
        let (row_run, col_run) = (run(rows, runs[0]), run(cols, runs[1]));
        let (vectors, columns) = view.tile([row_run, size(rows) / row_run], [col_run, size(cols) / col_run]);
        let slab_unit = |t: usize| view.slab.dim.strides[t] == 1;
        let uses_slab = (slab_unit(0) && !in_place[0]) || (slab_unit(1) && !in_place[1]) || slab_unit(2);
        let slab = Slab { size: if uses_slab { view.slab.size } else { 1 }, ..view.slab };
        Blocking { view, rows, cols, depth, in_place, out, runs, row_run, vectors, columns, slab }
    }

    pub fn candidate(&self) -> Candidate {
        let size = |dims: &[AxisDim]| dims.iter().map(|d| d.tile).product::<usize>();
        let depth = self.cut_depth();
        let kc = size(&depth);
        let rows = self.cut_rows(kc);
        let mc = size(&rows);
        let cols = self.cut_cols(kc, mc);
        let batches = self.view.batch.iter().map(|d| d.extent as f64).product::<f64>() * self.slab.dim.extent as f64;
        // The panel of rows then stays in the first-level cache, and successive tiles are close in `out`.
        let closest = |dims: &[AxisDim]| {
            let steps = dims.iter().map(|d| d.strides[1].unsigned_abs()).filter(|&s| s > 1);
            steps.min().unwrap_or(usize::MAX)
        };
        let columns_inside = self.out == OutAccess::Direct
            && closest(&cols) < closest(&rows)
            && self.panel_rows() * kc * self.view.element <= part(self.view.l1, L1_ROW_PANEL)
            && self.row_run < mc;
        Candidate {
            swapped: self.view.swapped,
            batches,
            slab: self.slab,
            access: [self.access(0, &rows, &depth), self.access(1, &cols, &depth)],
            rows,
            cols,
            depth,
            runs: self.runs,
            vectors: self.vectors,
            columns: self.columns,
            out: self.out,
            columns_inside,
        }
    }

    fn panel_rows(&self) -> usize {
        self.vectors * self.view.lanes
    }

    fn cut_depth(&self) -> AxisDims {
        let mut depth = AxisDims::from_slice(self.depth);
        (0..2).filter(|&t| self.in_place[t]).for_each(|t| fix_after_first(&mut depth, t));
        let unit = |t: usize| {
            let unit = depth.iter().position(|d| d.extent > 1 && d.strides[t] == 1);
            unit.filter(|_| !self.in_place[t])
        };
        let crossed = unit(0).is_some() && unit(1).is_some() && unit(0) != unit(1);
        let deepest = if crossed { MAX_CROSSED_DEPTH } else { MAX_DEPTH };
        let fitting = part(self.view.l1, L1_COLUMNS) / (self.columns * self.view.element);
        let deepest = fitting.clamp(MIN_DEPTH, deepest) / self.slab.size.clamp(1, MAX_SLAB_SHARE);
        let deepest = deepest.max(MIN_SLAB_DEPTH);
        let need = self.needs(&depth, [self.in_place == [false; 2]; 2], deepest);
        grow(&mut depth, &need, deepest, (1, 1));
        depth
    }

    fn cut_rows(&self, kc: usize) -> AxisDims {
        let (mr, buffered) = (self.panel_rows(), self.out == OutAccess::Buffered);
        let all_cols = self.cols.iter().map(|d| d.extent).product::<usize>();
        let of_rows = if buffered { kc + self.columns.max(all_cols.min(MAX_BUFFERED_COLUMNS)) } else { kc };
        let most = (self.row_budget() / (of_rows * self.view.element)).max(mr) / mr * mr;
        // Loads limit short sums: rows stay in the first-level cache, and columns are streamed.
        let near = part(self.view.l1, L1_ROWS) / (kc * self.view.element) / mr * mr;
        let most = if near >= 2 * mr && !buffered { most.min(near) } else { most };
        let mut rows = AxisDims::from_slice(self.rows);
        let need = self.needs(&rows, [true, buffered], most);
        // If panels may cross runs, only a box's last can be shorter.
        let in_run = if self.runs[0] == [false; 2] { 1 } else { run_dims(&rows, |i| rows[i].extent, self.runs[0]) };
        grow(&mut rows, &need, most, (mr, in_run));
        rows
    }

    fn cut_cols(&self, kc: usize, mc: usize) -> AxisDims {
        let (columns, buffered) = (self.columns, self.out == OutAccess::Buffered);
        let most = if buffered {
            (self.row_budget() / (mc * self.view.element)).max(columns)
        } else {
            (COLUMN_BYTES / self.slab.size / (kc * self.view.element)).max(columns)
        };
        let most = most / columns * columns;
        let mut cols = AxisDims::from_slice(self.cols);
        let need = self.needs(&cols, [true, buffered], most);
        grow(&mut cols, &need, most, (columns, 1));
        cols
    }

    fn row_budget(&self) -> usize {
        part(self.view.l2, L2_ROWS) / self.slab.size
    }

    /// Minimum tiles with which boxes do not split cache lines of a packed or buffered tensor.
    fn needs(&self, dims: &[AxisDim], tensors: [bool; 2], most: usize) -> Sizes {
        let line = CACHE_LINE / self.view.element;
        let contiguous = |d: &AxisDim| (0..2).any(|t| tensors[t] && d.strides[t] == 1);
        let need = |whole: usize| -> Sizes {
            let lines = |d: &AxisDim| if d.extent < whole { d.extent } else { line.min(d.extent) };
            dims.iter().map(|d| if contiguous(d) { lines(d) } else { 1 }).collect()
        };
        // Dimensions below two cache lines are not cut, if all minimum tiles then fit into a box.
        let need_whole = need(2 * line);
        if need_whole.iter().product::<usize>() <= most { need_whole } else { need(0) }
    }

    fn access(&self, operand: usize, axis: &[AxisDim], depth: &[AxisDim]) -> Access {
        if self.in_place[operand] {
            return Access::InPlace;
        }
        let unit = |d: &AxisDim, t: usize| d.strides[t] == 1;
        Access::Packed(if self.slab.dim.strides[operand] == 1 {
            PackBy::Slab
        } else if axis.first().is_some_and(|d| unit(d, 0)) {
            PackBy::Runs
        } else if depth.iter().any(|d| unit(d, operand)) {
            PackBy::Depth
        } else if axis.iter().any(|d| unit(d, 0)) {
            PackBy::Across
        } else {
            PackBy::Elements
        })
    }
}

/// Sets the tile of dimensions that do not continue the first one's even spacing in tensor `t` to 0, later 1: tensors
/// read in place need a single stride.
fn fix_after_first(dims: &mut [AxisDim], t: usize) {
    let goes_on = |pair: &[AxisDim]| pair[1].strides[t] == pair[0].strides[t] * pair[0].extent as isize;
    let run = dims.windows(2).take_while(|pair| goes_on(pair)).count();
    dims.iter_mut().skip(1 + run).for_each(|dim| dim.tile = 0);
}

/// Enlarges tiles, fastest dimension first, while a box has at most `most` indices; a tile of 0 becomes 1.
///
/// `need` has minimum tiles. If possible, a box's indices over the first `in_run` dimensions are a multiple of `unit`.
pub(super) fn grow(dims: &mut [AxisDim], need: &[usize], most: usize, (unit, in_run): (usize, usize)) {
    let fixed: SmallVec<[bool; 6]> = dims.iter().map(|d| d.tile == 0).collect();
    for (dim, &need) in dims.iter_mut().zip(need) {
        dim.tile = if dim.tile == 0 { 1 } else { need };
    }
    let (mut before, mut all) = (1, dims.iter().map(|d| d.tile).product::<usize>());
    for (i, dim) in dims.iter_mut().enumerate().filter(|&(i, _)| !fixed[i]) {
        let others = all / dim.tile;
        let available = most / others;
        if available >= dim.extent {
            dim.tile = dim.extent;
            (before, all) = (before * dim.tile, others * dim.tile);
            continue;
        }
        if available > dim.tile {
            let even = dim.extent.div_ceil(dim.extent.div_ceil(available));
            let rounded = if i < in_run { even.next_multiple_of(unit / gcd(unit, before)) } else { even };
            // Complete register tiles may exceed the limit by a tenth.
            let most = (available + available / 10).max(if i == 0 { unit } else { 0 });
            dim.tile = if rounded <= most { rounded.min(dim.extent) } else { even };
        }
        break;
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
