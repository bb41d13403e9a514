//! Plans a contraction as matrix products: rows, columns, depth (the sum), boxes, packing, and threads' shares
//! (`docs/kernels.md`).
//!
//! Invariant: shares write disjoint boxes of `out`, or a partial sum per part of the depth, added in a fixed order.

mod axis;
mod boxes;
mod candidate;
mod choose;
mod cost;
mod footprint;
mod grid;
mod partial;
mod tile;
mod tile_offsets;

pub use axis::{Axis, AxisDim, BoxAt, Panel, Table};
pub use grid::Grid;
pub use partial::Partial;
pub use tile::{MAX_COLUMNS, register_tiles};
pub use tile_offsets::{Group, RowLayout, RowTiles, TileOffsets};

pub use choose::Price;
pub(super) use choose::{plan_gemm, price_gemm};

use super::{CACHE_LINE, Dim, MIN_STREAMED_OUT_BYTES, Permute};
use crate::dtype::Dtype;
use tile::cycles_of_step;

/// The index with stride 1 in an operand, along which packing reads whole cache lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackBy {
    /// Rows (columns of the second operand), whose contiguous runs are copied.
    Runs,
    /// Depth; rows are transposed into panels.
    Depth,
    /// Rows (columns), not along the fastest dimension; elements are transposed.
    Across,
    /// The slab; elements are transposed into panels for each of its indices.
    Slab,
    /// None; elements are copied singly.
    Elements,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    InPlace,
    /// In packed panels of as many rows (columns) as a micro-kernel computes.
    Packed(PackBy),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutAccess {
    /// In place from registers, or from a tile in memory if rows form no vectors in `out`.
    Direct,
    /// Through a dense copy of the box.
    Buffered,
}

/// A batch dimension (kind c) with stride 1 in some tensor, or of extent 1. `size` indices, at most one cache line, are
/// packed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slab {
    pub dim: Dim<3>,
    pub size: usize,
}

/// Loops around packing and micro-kernels, with strides in the order rows' operand, columns' operand, `out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmPlan {
    pub swapped: bool,
    pub batch: Vec<Dim<3>>,
    pub slab: Slab,
    pub rows: Axis,
    pub cols: Axis,
    pub depth: Axis,
    pub lanes: usize,
    pub vectors: usize,
    pub columns: usize,
    pub access: [Access; 2],
    pub out: OutAccess,
    pub columns_inside: bool,
    pub grid: Grid,
    /// A partial sum's memory, with the layout of `out`.
    pub partial: Partial,
    /// Maximum depth boxes added one after another; longer lists are halved `levels` times, with a partial sum each.
    pub leaf_boxes: usize,
    pub levels: usize,
    pub merge: Option<Permute>,
    /// Write the dense copy of a box to `out`, by the shapes of columns (fastest) and rows, and whether the box has
    /// fewer than `slab.size` slab indices, which exists only if that does not divide the slab.
    unpack: Vec<Permute>,
    row_tiles: Vec<RowTiles>,
    col_panels: Vec<Vec<Panel>>,
    /// Whether stores to `out` bypass the caches, if it starts at a cache line and `beta` is 0.
    pub streams: bool,
    /// Whether micro-kernels prefetch what is packed next of each operand.
    pub prefetches: [bool; 2],
}

/// Packed buffers are multiples of so many elements, to start on cache lines for every element type.
const ALIGN: usize = 16;

impl GemmPlan {
    pub fn panel_rows(&self) -> usize {
        self.lanes * self.vectors
    }

    /// Whether each panel of columns is packed just before use.
    pub fn packs_by_panel(&self) -> bool {
        self.access[1] == Access::Packed(PackBy::Depth) && self.slab.size == 1 && !self.columns_inside
    }

    pub fn batches(&self) -> usize {
        self.batch.iter().map(|d| d.extent).product::<usize>() * self.slab.dim.extent.div_ceil(self.slab.size)
    }

    /// Elements of a box's packed panels per slab index, of the rows' operand (0) or the columns' operand (1).
    pub fn panels_elements(&self, operand: usize) -> usize {
        let (axis, panel) = if operand == 0 { (&self.rows, self.panel_rows()) } else { (&self.cols, self.columns) };
        (axis.most_panels(panel) * panel * self.depth.longest()).next_multiple_of(ALIGN)
    }

    pub fn buffer_rows(&self) -> usize {
        self.rows.longest().next_multiple_of(self.lanes)
    }

    pub fn buffer_elements(&self) -> usize {
        (self.buffer_rows() * self.cols.longest()).next_multiple_of(ALIGN)
    }

    #[inline]
    pub fn row_tiles(&self, shape: usize) -> &RowTiles {
        &self.row_tiles[shape]
    }

    #[inline]
    pub fn col_panels(&self, shape: usize) -> &[Panel] {
        &self.col_panels[shape]
    }

    fn plan_tiles(&mut self, dtype: Dtype) {
        let parts = if dtype.is_complex() { 2 } else { 1 };
        let (in_place, buffered) = (self.access[0] == Access::InPlace, self.out == OutAccess::Buffered);
        let size = [self.lanes, self.vectors];
        let tiles = |table| RowTiles::new(table, size, parts, in_place, buffered);
        self.row_tiles = self.rows.tables().iter().map(tiles).collect();
        self.col_panels = self.cols.tables().iter().map(|table| table.panels(self.columns)).collect();
        self.streams = self.far(dtype.size()) && self.whole_lines(CACHE_LINE / dtype.size());
    }

    /// Whether `out` is written once, in place, and too large to be cached when read later.
    fn far(&self, element_bytes: usize) -> bool {
        let all = |axis: &Axis| axis.dims().iter().map(|d| d.extent).product::<usize>();
        let batches = self.batch.iter().map(|d| d.extent).product::<usize>() * self.slab.dim.extent;
        let elements = all(&self.rows).saturating_mul(all(&self.cols)).saturating_mul(batches);
        self.out == OutAccess::Direct
            && self.depth.boxes() == 1
            && elements.saturating_mul(element_bytes) >= MIN_STREAMED_OUT_BYTES
    }

    /// Whether every tile is whole cache lines of `line` elements if `out` starts at one.
    fn whole_lines(&self, line: usize) -> bool {
        let aligned = |offset: isize| offset.unsigned_abs().is_multiple_of(line);
        let strides = self.rows.dims().iter().chain(self.cols.dims()).map(|d| (d.extent, d.strides[1]));
        let loops = self.batch.iter().chain([&self.slab.dim]).map(|d| (d.extent, d.strides[2]));
        let groups = self.row_tiles.iter().flat_map(|tiles| &tiles.groups);
        strides.chain(loops).all(|(extent, stride)| extent == 1 || stride == 1 || aligned(stride))
            && self
                .rows
                .tables()
                .iter()
                .all(|t| t.unit[1].is_some_and(|(distance, len)| distance == 1 && len % line == 0))
            && groups.into_iter().all(|group| {
                let dense =
                    group.layout == RowLayout::Dense || (self.lanes == line && group.layout == RowLayout::Vectors);
                dense && group.rows.is_multiple_of(line)
            })
    }

    /// The operation that writes a box's dense copy to `out`, for its tables and slab indices.
    pub fn unpack(&self, [rows, cols]: [usize; 2], slabs: usize) -> &Permute {
        let shapes = [self.rows.tables().len(), self.cols.tables().len()];
        let part = usize::from(slabs < self.slab.size);
        &self.unpack[(part * shapes[0] + rows) * shapes[1] + cols]
    }

    pub(super) fn share(&mut self, other: &GemmPlan) {
        self.rows.share(&other.rows);
        self.cols.share(&other.cols);
        self.depth.share(&other.depth);
    }

    fn plan_unpack(&mut self, element_bytes: usize) {
        if self.out == OutAccess::Direct {
            return;
        }
        let last = self.slab.dim.extent % self.slab.size;
        let slabs = [self.slab.size, last];
        let slabs = &slabs[..if last == 0 { 1 } else { 2 }];
        self.unpack.reserve_exact(slabs.len() * self.rows.tables().len() * self.cols.tables().len());
        for &slabs in slabs {
            for rows in self.rows.tables() {
                for cols in self.cols.tables() {
                    let slab = [self.buffer_elements() as isize, self.slab.dim.strides[2]];
                    let mut dims = vec![Dim { extent: slabs, strides: slab }];
                    let sides = [(&self.rows, rows, 1), (&self.cols, cols, self.buffer_rows() as isize)];
                    for (axis, table, mut step) in sides {
                        for (dim, &extent) in axis.dims().iter().zip(&table.lens) {
                            dims.push(Dim { extent, strides: [step, dim.strides[1]] });
                            step *= extent as isize;
                        }
                    }
                    self.unpack.push(Permute::new(&dims, element_bytes, 1));
                }
            }
        }
    }

    pub fn share_elements(&self) -> [usize; 4] {
        let panels = |operand: usize| match self.access[operand] {
            Access::InPlace => 0,
            Access::Packed(_) => self.panels_elements(operand) * self.slab.size,
        };
        let buffer = if self.out == OutAccess::Buffered { self.buffer_elements() * self.slab.size } else { 0 };
        [panels(0), panels(1), buffer, (self.panel_rows() * self.columns).next_multiple_of(ALIGN)]
    }

    pub fn partial_elements(&self) -> usize {
        self.partial.len.next_multiple_of(ALIGN)
    }

    pub fn workspace_elements(&self) -> usize {
        let partials = (self.grid.parts[3] - 1 + self.levels) * self.partial_elements();
        self.grid.shares() * self.share_elements().iter().sum::<usize>() + partials
    }

    fn plan_merge(&mut self, dims: &[Vec<Dim<3>>; 4], element_bytes: usize, threads: usize) {
        if self.grid.parts[3] > 1 || self.levels > 0 {
            let same = |dim: &Dim<3>| Dim { extent: dim.extent, strides: [dim.strides[2]; 2] };
            let out: Vec<Dim<2>> = dims[..3].iter().flatten().map(same).collect();
            self.merge = Some(Permute::new(&out, element_bytes, threads));
        }
    }
}
