//! Converts slices of elements to slices of bytes, for file input and output.

use crate::kernel::Element;

/// The bytes of a slice, in native byte order.
pub fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: `Element` is sealed. The element types are floats and pairs of floats without padding, so every byte is
    // initialised.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of a slice, in native byte order.
pub fn bytes_of_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; every byte pattern is a valid value of each element type.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}
