//! Divides an axis of a matrix product (rows, columns or depth: one kind's dimensions as one long index) into boxes,
//! with tables of offsets. `docs/kernels.md` describes boxes, panels and runs (evenly spaced indices).
//!
//! Invariants: boxes are disjoint and cover every index. There is one table per subset of the dimensions with a shorter
//! last piece. Lists of tables never change, so equal ones are shared.

use std::sync::Arc;

use smallvec::SmallVec;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisDim {
    pub extent: usize,
    pub tile: usize,
    pub strides: [isize; 2],
}

pub(super) type AxisDims = SmallVec<[AxisDim; 6]>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Relative to the box's first index, in both tensors.
    pub offsets: [Arc<[isize]>; 2],
    /// Per tensor and index, the length of the longest evenly spaced sequence from there.
    pub even: [Arc<[u32]>; 2],
    /// Per tensor, any dimension with stride 1: the distance between neighbours along it, and the box's extent in it.
    pub unit: [Option<(usize, usize)>; 2],
    /// Per tensor, offsets that together are on every cache line along this dimension, after `Axis::find_lines`.
    pub lines: [Arc<[isize]>; 2],
    pub lens: Vec<usize>,
    /// All runs' length: evenly spaced indices in the tensors of `runs`, or the whole box. Panels must not cross their
    /// ends.
    pub run: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Panel {
    pub number: usize,
    pub first: usize,
    pub len: usize,
}

/// Dimensions are fastest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    dims: Vec<AxisDim>,
    /// Dimensions with a shorter last piece.
    edges: Vec<usize>,
    /// Bit i of the index: whether dimension `edges[i]` has its shorter last piece.
    tables: Vec<Table>,
    boxes: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct BoxAt<'a> {
    pub table: &'a Table,
    pub shape: usize,
    pub start: [isize; 2],
}

impl Axis {
    /// Divides dimensions into boxes; `runs` states in which tensors panels must be evenly spaced.
    ///
    /// # Panics
    /// If a tile is 0 or larger than its extent.
    pub(super) fn new(dims: Vec<AxisDim>, runs: [bool; 2]) -> Axis {
        assert!(dims.iter().all(|d| d.tile > 0 && d.tile <= d.extent), "boxes of {dims:?}");
        let edges: Vec<usize> = (0..dims.len()).filter(|&i| !dims[i].extent.is_multiple_of(dims[i].tile)).collect();
        let tables = (0..1usize << edges.len()).map(|shape| {
            let len = |i: usize| match edges.iter().position(|&e| e == i) {
                Some(bit) if shape >> bit & 1 == 1 => dims[i].extent % dims[i].tile,
                _ => dims[i].tile,
            };
            Table::new(&dims, (0..dims.len()).map(len).collect(), runs)
        });
        let tables = tables.collect();
        let boxes = dims.iter().map(|d| d.extent.div_ceil(d.tile)).product();
        Axis { dims, edges, tables, boxes }
    }

    pub(super) fn share(&mut self, other: &Axis) {
        for table in &mut self.tables {
            for like in &other.tables {
                share(&mut table.offsets, &like.offsets);
                share(&mut table.even, &like.even);
            }
        }
    }

    pub(super) fn find_lines(&mut self, t: usize, line: usize) {
        for Table { offsets, unit, lines, .. } in &mut self.tables {
            let Some((distance, neighbours)) = unit[t] else { continue };
            let along = |at: usize| at / distance % neighbours;
            // The last element may be on another line.
            let starts = |&at: &usize| along(at).is_multiple_of(line) || along(at) == neighbours - 1;
            lines[t] = (0..offsets[t].len()).filter(starts).map(|at| offsets[t][at]).collect();
        }
    }

    pub fn dims(&self) -> &[AxisDim] {
        &self.dims
    }

    pub fn boxes(&self) -> usize {
        self.boxes
    }

    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    pub fn longest(&self) -> usize {
        self.tables[0].len()
    }

    pub fn most_panels(&self, size: usize) -> usize {
        self.tables.iter().map(|table| table.len() / table.run * table.run.div_ceil(size)).max().unwrap_or(0)
    }

    /// `number` is below [`Axis::boxes`].
    pub fn at(&self, number: usize) -> BoxAt<'_> {
        let (mut rest, mut shape, mut start) = (number, 0, [0; 2]);
        for (i, dim) in self.dims.iter().enumerate() {
            let count = dim.extent.div_ceil(dim.tile);
            let piece = rest % count;
            rest /= count;
            (0..2).for_each(|t| start[t] += (piece * dim.tile) as isize * dim.strides[t]);
            if piece == count - 1 {
                shape |= self.edges.iter().position(|&e| e == i).map_or(0, |bit| 1 << bit);
            }
        }
        BoxAt { table: &self.tables[shape], shape, start }
    }
}

impl Table {
    fn new(dims: &[AxisDim], lens: Vec<usize>, runs: [bool; 2]) -> Table {
        let count = lens.iter().product();
        let offsets = [0, 1].map(|t| -> Arc<[isize]> {
            let mut offsets = Vec::with_capacity(count);
            offsets.push(0);
            for (dim, &len) in dims.iter().zip(&lens) {
                let inner = offsets.len();
                for i in 1..len {
                    for at in 0..inner {
                        offsets.push(offsets[at] + i as isize * dim.strides[t]);
                    }
                }
            }
            offsets.into()
        });
        let mut even = offsets.each_ref().map(|offsets| -> Arc<[u32]> {
            let mut even = vec![1u32; offsets.len()];
            for i in (0..offsets.len().saturating_sub(1)).rev() {
                let step = offsets[i + 1] - offsets[i];
                let same = even[i + 1] == 1 || offsets[i + 2] - offsets[i + 1] == step;
                even[i] = if same { even[i + 1] + 1 } else { 2 };
            }
            even.into()
        });
        // Equal lists are stored once.
        let [first, second] = &mut even;
        share(std::slice::from_mut(second), std::slice::from_ref(first));
        let unit = [0, 1].map(|t| {
            let at = (0..dims.len()).find(|&i| dims[i].strides[t] == 1)?;
            Some((lens[..at].iter().product(), lens[at]))
        });
        let run = run_of_box(dims, |i| lens[i], runs);
        Table { offsets, even, unit, lines: Default::default(), lens, run }
    }

    pub(super) fn panels(&self, size: usize) -> Vec<Panel> {
        let runs = (0..self.len()).step_by(self.run);
        let firsts = runs.flat_map(|run| (run..run + self.run).step_by(size));
        let mut panels: Vec<Panel> = firsts.map(|first| self.panel_of(first, size).0).collect();
        panels.shrink_to_fit();
        panels
    }

    #[inline]
    pub fn panel_of(&self, index: usize, size: usize) -> (Panel, usize) {
        let (run, inside) = (index / self.run, index % self.run);
        let number = run * self.run.div_ceil(size) + inside / size;
        let start = inside / size * size;
        (Panel { number, first: run * self.run + start, len: size.min(self.run - start) }, inside - start)
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.offsets[0].len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many indices from `at` on, up to `most`, are evenly spaced in a tensor, and their stride.
    #[inline]
    pub fn run(&self, tensor: usize, at: usize, most: usize) -> (usize, isize) {
        let len = (self.even[tensor][at] as usize).min(most);
        let offsets = &self.offsets[tensor];
        (len, if len > 1 { offsets[at + 1] - offsets[at] } else { 1 })
    }

    #[inline]
    pub fn is_dense(&self, tensor: usize, at: usize, count: usize) -> bool {
        self.run(tensor, at, count) == (count, 1)
    }
}

/// All indices if no tensor is chosen. Runs start along the first dimension, even with a single index. `len` returns
/// the box's extents.
pub(super) fn run_of_box(dims: &[AxisDim], len: impl Fn(usize) -> usize, tensors: [bool; 2]) -> usize {
    (0..run_dims(dims, &len, tensors)).map(len).product()
}

pub(super) fn run_dims(dims: &[AxisDim], len: impl Fn(usize) -> usize, tensors: [bool; 2]) -> usize {
    let goes_on = |&i: &usize| {
        let even = |t: usize| dims[i].strides[t] == dims[i - 1].strides[t] * len(i - 1) as isize;
        (0..2).all(|t| !tensors[t] || even(t))
    };
    let more = (1..dims.len()).take_while(goes_on).count();
    dims.len().min(1 + more)
}

fn share<T: Eq>(lists: &mut [Arc<[T]>], held: &[Arc<[T]>]) {
    for list in lists {
        if let Some(like) = held.iter().find(|like| *like == list) {
            *list = like.clone();
        }
    }
}

#[cfg(test)]
mod tests;
