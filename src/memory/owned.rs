//! Allocates memory whose size depends on input, with an error instead of an abort.

use std::alloc::{Layout, alloc_zeroed};

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use super::{OutOfMemory, fallible};
use crate::kernel::Element;

/// Allocates a vector of zeros.
///
/// # Errors
/// If the system refuses the allocation, or the size overflows.
pub fn zeros<T: Element>(elements: usize) -> Result<Vec<T>, OutOfMemory> {
    let bytes = elements.saturating_mul(size_of::<T>());
    let layout = Layout::array::<T>(elements).map_err(|_| OutOfMemory { bytes })?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is not empty.
    let start = fallible(|| unsafe { alloc_zeroed(layout) }).cast::<T>();
    if start.is_null() {
        return Err(OutOfMemory { bytes });
    }
    // SAFETY: the global allocator returned the memory for `elements` elements. Zero bits are a valid value of the
    // sealed `Element` types.
    Ok(unsafe { Vec::from_raw_parts(start, elements, elements) })
}

/// Row-major.
pub fn zero_array<T: Element>(extents: &[usize]) -> Result<ArrayD<T>, OutOfMemory> {
    let elements = extents.iter().try_fold(1usize, |elements, &extent| elements.checked_mul(extent));
    let values = zeros(elements.ok_or(OutOfMemory { bytes: usize::MAX })?)?;
    Ok(ArrayD::from_shape_vec(IxDyn(extents), values)
        .unwrap_or_else(|_| unreachable!("there are as many elements as the extents say")))
}

/// Row-major.
pub fn copy_of<T: Element>(view: &ArrayViewD<'_, T>) -> Result<ArrayD<T>, OutOfMemory> {
    let mut copy = zero_array(view.shape())?;
    copy.assign(view);
    Ok(copy)
}

pub fn room_for<T>(elements: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut memory = Vec::new();
    let had = fallible(|| memory.try_reserve_exact(elements));
    had.map_err(|_| OutOfMemory { bytes: elements.saturating_mul(size_of::<T>()) })?;
    Ok(memory)
}

/// Checks that `bytes` bytes can be allocated now.
///
/// # Errors
/// If the system refuses the allocation.
pub fn probe(bytes: usize) -> Result<(), OutOfMemory> {
    // The compiler may remove an unused allocation.
    std::hint::black_box(room_for::<u8>(bytes)).map(drop)
}

#[cfg(test)]
mod tests;
