//! A submatrix of a distributed matrix, and its part in this process.

use std::ffi::c_int;

use einsum_dist::ndarray::{ArrayViewMutD, IxDyn, ShapeBuilder};
use einsum_dist::{Axis, Cut, Distribution, Owners, Role};

use super::blacs::Grid;
use super::check::Submatrix;

/// Along rows or columns of the process grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Side {
    extent: usize,
    parts: usize,
    /// `None` if all processes have all indices.
    cyclic: Option<Cyclic>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Cyclic {
    first: usize,
    block: usize,
    /// The process with the first block.
    source: usize,
}

/// What a plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout([Side; 2]);

/// The elements of a process: column by column, columns `leading` elements apart.
#[derive(Debug, Clone, Copy)]
pub struct Local<T> {
    start: *mut T,
    extents: [usize; 2],
    leading: usize,
}

impl Side {
    fn new(matrix: &Submatrix, grid: &Grid, dim: usize) -> Side {
        let of = &matrix.of;
        let number = |number: c_int| number as usize;
        let (extent, parts) = (number(matrix.extents[dim].value), number(grid.shape[dim]));
        let (first, block, start) = (number(of.first[dim]), number(of.block[dim]), number(matrix.start[dim]));
        let cyclic = usize::try_from(of.source[dim]).ok().map(|source| match start.checked_sub(first) {
            None => Cyclic { first: first - start, block, source },
            Some(rest) => Cyclic { first: block - rest % block, block, source: (source + 1 + rest / block) % parts },
        });
        Side { extent, parts, cyclic }
    }

    fn axis(&self, dim: usize) -> Axis {
        let role = match self.cyclic {
            Some(Cyclic { first, block, .. }) => Role::Cut { dim, how: Cut::Cyclic { block, first } },
            None => Role::Replicate,
        };
        Axis { ranks: self.parts, role }
    }

    fn source(&self) -> usize {
        self.cyclic.map_or(0, |cyclic| cyclic.source)
    }
}

impl Layout {
    /// The submatrix has been checked.
    pub fn new(matrix: &Submatrix, grid: &Grid) -> Layout {
        Layout([0, 1].map(|dim| Side::new(matrix, grid, dim)))
    }

    pub fn shape(&self) -> [usize; 2] {
        self.0.map(|side| side.extent)
    }

    /// `ranks` has the rank of each process of the grid, row by row.
    pub fn distribution(&self, ranks: &[usize]) -> Distribution {
        let [rows, columns] = &self.0;
        let axes = vec![rows.axis(0), columns.axis(1)];
        let owner = |row: usize, column: usize| {
            ranks[(row + rows.source()) % rows.parts * columns.parts + (column + columns.source()) % columns.parts]
        };
        let owners: Vec<usize> =
            (0..rows.parts).flat_map(|row| (0..columns.parts).map(move |column| owner(row, column))).collect();
        let in_order = owners.iter().enumerate().all(|(place, &rank)| place == rank);
        Distribution::new(axes).owned_by(if in_order { Owners::default() } else { Owners::Listed(owners) })
    }
}

impl<T> Local<T> {
    /// # Safety
    /// `array` points to the local part of the whole matrix, as the descriptor says.
    pub unsafe fn new(array: *mut T, matrix: &Submatrix, grid: &Grid) -> Local<T> {
        let of = &matrix.of;
        let before_and_within = [0, 1].map(|dim| {
            let [start, extent] = [matrix.start[dim], matrix.extents[dim].value].map(|number| number as usize);
            let count = |count| of.local_count(grid, dim, count);
            (count(start), count(start + extent) - count(start))
        });
        let [(rows_before, rows), (columns_before, columns)] = before_and_within;
        let leading = of.leading as usize;
        let offset = if rows * columns == 0 { 0 } else { rows_before + columns_before * leading };
        // SAFETY: guaranteed by the caller; the offset is that of an element, or 0.
        Local { start: unsafe { array.add(offset) }, extents: [rows, columns], leading }
    }

    /// # Safety
    /// The local part lives as long as the view, and nothing else writes it meanwhile, or reads it while the view is
    /// written.
    pub unsafe fn view<'a>(&self) -> ArrayViewMutD<'a, T> {
        let Local { start, extents: [rows, columns], leading } = *self;
        let start = if rows * columns == 0 { std::ptr::NonNull::dangling().as_ptr() } else { start };
        let shape = IxDyn(&[rows, columns]).strides(IxDyn(&[1, leading.max(rows)]));
        // SAFETY: guaranteed by the caller; elements are distinct, because a column is not longer than `leading`.
        unsafe { ArrayViewMutD::from_shape_ptr(shape, start) }
    }
}
