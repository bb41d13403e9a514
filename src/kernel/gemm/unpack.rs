//! Writes the dense copy of a box to its place in out.

use super::super::Element;
use super::super::strided::{Plus, Put, ScalePlus, zip};
use crate::local::{BoxAt, Dim, GemmPlan};

/// out = copy + beta out
///
/// # Safety
/// The copy of the boxes' rows and columns may be read for each slab; their places in out may be written, and hold values
/// unless beta is 0.
pub(super) unsafe fn unpack<T: Element>(
    plan: &GemmPlan,
    buffer: *const T,
    out: *mut T,
    beta: T,
    [rows, cols]: [BoxAt; 2],
    slabs: usize,
) {
    let mut dims = Vec::new();
    let mut step = 1;
    for (dim, &len) in plan.rows.dims().iter().zip(&rows.table.lens) {
        dims.push(Dim { extent: len, strides: [step, dim.strides[1]] });
        step *= len as isize;
    }
    let mut step = plan.buffer_rows() as isize;
    for (dim, &len) in plan.cols.dims().iter().zip(&cols.table.lens) {
        dims.push(Dim { extent: len, strides: [step, dim.strides[1]] });
        step *= len as isize;
    }
    dims.push(Dim { extent: slabs, strides: [plan.buffer_elements() as isize, plan.slab.dim.strides[2]] });
    // SAFETY: the caller's promise.
    unsafe {
        if beta == T::ZERO {
            zip(dims, buffer, out, &Put, 1);
        } else if beta == T::ONE {
            zip(dims, buffer, out, &Plus, 1);
        } else {
            zip(dims, buffer, out, &ScalePlus(beta), 1);
        }
    }
}
