//! Strided arrays of callers as views. Strides are in elements; NULL means dense and row-major.

use einsum_dist::ndarray::{ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder};

use super::argument::list;
use super::status::{Failure, Result};

/// The position of an array's elements, as in `ndarray`, where strides are not negative.
struct Layout<T> {
    first: *mut T,
    shape: IxDyn,
    strides: IxDyn,
    inverted: Vec<usize>,
}

impl<T> Layout<T> {
    /// # Safety
    /// `strides` is null or points to one stride per dimension; all elements are inside one allocation.
    unsafe fn new(first: *mut T, shape: &[usize], strides: *const isize, name: &str) -> Result<Layout<T>> {
        let empty = shape.contains(&0);
        if first.is_null() && !empty {
            return Err(Failure::usage(format!("{name} is NULL")));
        }
        if !first.is_aligned() {
            return Err(Failure::usage(format!("{name} is not aligned to its type")));
        }
        // Strides of empty arrays have no meaning, but `ndarray` checks them.
        if strides.is_null() || empty {
            let first = if first.is_null() { std::ptr::NonNull::dangling().as_ptr() } else { first };
            return Ok(Layout { first, shape: IxDyn(shape), strides: row_major(shape), inverted: Vec::new() });
        }
        // SAFETY: guaranteed by the caller.
        let given = unsafe { list(strides, shape.len(), "strides")? };
        let mut layout =
            Layout { first, shape: IxDyn(shape), strides: IxDyn::zeros(shape.len()), inverted: Vec::new() };
        for (axis, (&extent, &stride)) in shape.iter().zip(given).enumerate().filter(|(_, (extent, _))| **extent > 1) {
            if stride < 0 {
                layout.first = layout.first.wrapping_offset(stride * (extent as isize - 1));
                layout.inverted.push(axis);
            }
            layout.strides[axis] = stride.unsigned_abs();
        }
        Ok(layout)
    }

    /// Whether no two indices refer to the same element. False for some exotic layouts in which this is so.
    fn is_injective(&self) -> bool {
        let dims = self.shape.slice().iter().zip(self.strides.slice()).filter(|(extent, _)| **extent > 1);
        let mut dims: Vec<(usize, usize)> = dims.map(|(&extent, &stride)| (stride, extent)).collect();
        dims.sort_unstable();
        let mut reach = 1;
        self.shape.slice().contains(&0)
            || dims.iter().all(|&(stride, extent)| {
                let fits = stride >= reach;
                reach += stride * (extent - 1);
                fits
            })
    }
}

fn row_major(shape: &[usize]) -> IxDyn {
    let (mut strides, mut elements) = (IxDyn::zeros(shape.len()), 1);
    for (axis, &extent) in shape.iter().enumerate().rev() {
        strides[axis] = elements;
        elements *= extent.max(1);
    }
    strides
}

/// A view of an operand.
///
/// # Safety
/// All elements that shape and strides describe are inside one allocation, live as long as the view, and are not written
/// meanwhile. `strides` is null or points to one stride per dimension.
pub unsafe fn view<'a, T>(
    data: *const T,
    shape: &[usize],
    strides: *const isize,
    name: &str,
) -> Result<ArrayViewD<'a, T>> {
    // SAFETY: guaranteed by the caller.
    let Layout { first, shape, strides, inverted } = unsafe { Layout::new(data.cast_mut(), shape, strides, name)? };
    // SAFETY: guaranteed by the caller; the pointer is aligned, as checked in `Layout::new`.
    let mut view = unsafe { ArrayViewD::from_shape_ptr(shape.strides(strides), first.cast_const()) };
    inverted.iter().for_each(|&axis| view.invert_axis(Axis(axis)));
    Ok(view)
}

/// A view of an output, no two elements of which are the same.
///
/// # Safety
/// Same as for [`view`], and nothing else reads or writes the elements while the view exists. They may be
/// uninitialised.
pub unsafe fn view_mut<'a, T>(
    data: *mut T,
    shape: &[usize],
    strides: *const isize,
    name: &str,
) -> Result<ArrayViewMutD<'a, T>> {
    // SAFETY: guaranteed by the caller.
    let layout = unsafe { Layout::new(data, shape, strides, name)? };
    if !layout.is_injective() {
        return Err(Failure::usage(format!("the strides of {name} make two elements the same")));
    }
    let Layout { first, shape, strides, inverted } = layout;
    // SAFETY: guaranteed by the caller; the pointer is aligned, and elements are distinct, as checked above. All bit
    // patterns are numbers.
    let mut view = unsafe { ArrayViewMutD::from_shape_ptr(shape.strides(strides), first) };
    inverted.iter().for_each(|&axis| view.invert_axis(Axis(axis)));
    Ok(view)
}
