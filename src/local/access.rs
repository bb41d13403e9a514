//! How the inner matrix product reaches one tensor: where it lies, or through a packed copy.

use super::{Dim, fold::fold};

/// The two matrix strides of a tensor and, if it is packed, the copy that makes it a matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub row_stride: isize,
    pub col_stride: isize,
    /// Step from one member of a slab to the next.
    pub slab_stride: isize,
    /// Loops of the copy, strides in tensor and packed buffer; the slab's own loop is not among them. `None`: in place.
    pub packed: Option<Vec<Dim<2>>>,
}

impl Access {
    /// Reads or writes the tensor where it lies; `None` if rows or columns have no single stride.
    pub(super) fn in_place(rows: &[Dim<1>], cols: &[Dim<1>], slab_stride: isize) -> Option<Self> {
        let (row, col) = (single_stride(rows)?, single_stride(cols)?);
        // A missing dimension gets the stride it would have if it were the outer one: GEMM reads the storage order
        // of a matrix off its strides.
        let outer = |inner: Option<isize>, dims: &[Dim<1>]| inner.map_or(1, |s| s.abs().max(1) * size(dims) as isize);
        let row_stride = row.unwrap_or_else(|| outer(col, cols));
        let col_stride = col.unwrap_or_else(|| outer(row, rows));
        Some(Access { row_stride, col_stride, slab_stride, packed: None })
    }

    /// Goes through a dense copy whose inner matrix dimension holds the tensor's smallest stride.
    pub(super) fn packed(rows: &[Dim<1>], cols: &[Dim<1>]) -> Self {
        let smallest = |dims: &[Dim<1>]| dims.iter().map(|d| d.strides[0].unsigned_abs()).min().unwrap_or(usize::MAX);
        let rows_inside = smallest(rows) < smallest(cols);
        let (inner, outer) = if rows_inside { (rows, cols) } else { (cols, rows) };
        let mut step = 1;
        let mut dims = Vec::new();
        for dim in inner.iter().rev().chain(outer.iter().rev()) {
            dims.push(Dim { extent: dim.extent, strides: [dim.strides[0], step] });
            step *= dim.extent as isize;
        }
        let lead = size(inner) as isize;
        let (row_stride, col_stride) = if rows_inside { (1, lead) } else { (lead, 1) };
        Access { row_stride, col_stride, slab_stride: step, packed: Some(fold(dims)) }
    }

    pub(super) fn elements(&self) -> usize {
        if self.packed.is_some() { self.slab_stride.unsigned_abs() } else { 0 }
    }
}

/// Number of indices of some loops.
pub(super) fn size(dims: &[Dim<1>]) -> usize {
    dims.iter().map(|d| d.extent).product()
}

/// The step of loops (outermost first) that act as one; `Some(None)` if there are none.
fn single_stride(dims: &[Dim<1>]) -> Option<Option<isize>> {
    let fused = dims.windows(2).all(|w| w[0].strides[0] == w[1].strides[0] * w[1].extent as isize);
    fused.then(|| dims.last().map(|d| d.strides[0]))
}
