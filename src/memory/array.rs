//! A dense array of elements in owned memory, and slices of elements as bytes.
//!
//! Invariant: elements are contiguous in row-major order; new pages are untouched.

use std::marker::PhantomData;

use ndarray::{ArrayViewD, ArrayViewMutD};

use super::{Aligned, OutOfMemory};
use crate::kernel::Element;

#[derive(Debug)]
pub struct Array<T> {
    memory: Aligned,
    extents: Vec<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Array<T> {
    /// # Errors
    /// If the system refuses the allocation, or the size overflows.
    pub fn zeros(extents: Vec<usize>) -> Result<Array<T>, OutOfMemory> {
        let bytes = extents.iter().try_fold(size_of::<T>(), |bytes, &extent| bytes.checked_mul(extent));
        let memory = Aligned::zeroed(bytes.ok_or(OutOfMemory { bytes: usize::MAX })?, &Default::default())?;
        Ok(Array { memory, extents, element: PhantomData })
    }

    pub fn as_slice(&self) -> &[T] {
        let bytes = self.memory.as_slice();
        // SAFETY: the memory has this many elements and is aligned to 64 bytes. Every byte pattern is a valid value of
        // the sealed `Element` types.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let bytes = self.memory.as_mut_slice();
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
    }

    pub fn view(&self) -> ArrayViewD<'_, T> {
        let view = ArrayViewD::from_shape(self.extents.as_slice(), self.as_slice());
        view.unwrap_or_else(|_| unreachable!("the memory has as many elements as the extents say"))
    }

    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let extents = self.extents.clone();
        let view = ArrayViewMutD::from_shape(extents, self.as_mut_slice());
        view.unwrap_or_else(|_| unreachable!("the memory has as many elements as the extents say"))
    }
}

impl<T: Element> Clone for Array<T> {
    /// # Panics
    /// If memory cannot be allocated.
    fn clone(&self) -> Array<T> {
        let mut copy = Array::zeros(self.extents.clone()).unwrap_or_else(|error| panic!("{error}"));
        copy.as_mut_slice().copy_from_slice(self.as_slice());
        copy
    }
}

/// The bytes of a slice, in native byte order.
pub fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: the sealed `Element` types are floats and pairs of floats without padding, so every byte is initialised.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of a slice, in native byte order.
pub fn bytes_of_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; every byte pattern is a valid value of each element type.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}
