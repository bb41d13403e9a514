//! Transposes elements while they are packed; complex ones are pairs of reals.

use crate::dtype::Dtype;
use crate::kernel::Element;
use crate::kernel::simd::{Both, Size, transpose_squares};

/// [`transpose_squares`] for any element type.
///
/// # Safety
/// Same as for [`transpose_squares`].
#[inline(always)]
pub(super) unsafe fn transpose_tile<S: Both, T: Element>(
    from: *const T,
    from_stride: isize,
    to: *mut T,
    to_stride: isize,
    rows: usize,
    cols: usize,
) {
    let size = Size { rows, cols };
    // SAFETY: guaranteed by the caller; an element consists of one or two reals of the type that its dtype names.
    unsafe {
        match T::DTYPE {
            Dtype::Float32 => transpose_squares::<S, f32, 1>(from.cast(), from_stride, to.cast(), to_stride, size),
            Dtype::Float64 => transpose_squares::<S, f64, 1>(from.cast(), from_stride, to.cast(), to_stride, size),
            Dtype::Complex64 => transpose_squares::<S, f32, 2>(from.cast(), from_stride, to.cast(), to_stride, size),
            Dtype::Complex128 => transpose_squares::<S, f64, 2>(from.cast(), from_stride, to.cast(), to_stride, size),
        }
    }
}

#[cfg(test)]
mod tests;
