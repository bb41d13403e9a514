//! An array of elements in owned or lent memory, and slices of elements as bytes.
//!
//! Invariant: owned elements are contiguous in row-major order; new pages are untouched.

use std::fmt;

use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn, RawArrayViewMut};

use super::{Aligned, OutOfMemory};
use crate::kernel::Element;

pub struct Array<T> {
    elements: RawArrayViewMut<T, IxDyn>,
    /// That of the elements, if they are not lent.
    _memory: Option<Aligned>,
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("extents", &self.elements.shape()).finish_non_exhaustive()
    }
}

// SAFETY: the elements, which are `Send`, are accessed only through borrows of their `Array` ([`Lent::new`]).
unsafe impl<T: Element> Send for Array<T> {}
// SAFETY: as above; shared borrows only read.
unsafe impl<T: Element> Sync for Array<T> {}

/// A caller's array of any strides, as a rank's block ([`DistTensor::lent`](crate::DistTensor::lent)).
#[derive(Debug)]
pub struct Lent<T>(pub(crate) Array<T>);

impl<T: Element> Lent<T> {
    /// # Safety
    /// The array must outlive the result. Meanwhile, it may be accessed by others only if all, and programs, read it.
    pub unsafe fn new(mut array: ArrayViewMutD<'_, T>) -> Lent<T> {
        Lent(Array { elements: array.raw_view_mut(), _memory: None })
    }
}

impl<T: Element> Array<T> {
    /// # Errors
    /// If the system refuses the allocation, or the size overflows.
    pub fn zeros(extents: Vec<usize>) -> Result<Array<T>, OutOfMemory> {
        let bytes = extents.iter().try_fold(size_of::<T>(), |bytes, &extent| bytes.checked_mul(extent));
        let mut memory = Aligned::zeroed(bytes.ok_or(OutOfMemory { bytes: usize::MAX })?, &Default::default())?;
        let first = memory.as_mut_slice().as_mut_ptr().cast();
        // SAFETY: the memory has this many elements, is aligned to 64 bytes, and does not move. Every byte pattern is a
        // valid value of the sealed `Element` types.
        let elements = unsafe { RawArrayViewMut::from_shape_ptr(extents, first) };
        Ok(Array { elements, _memory: Some(memory) })
    }

    /// Row-major elements; `None` if they are scattered in lent memory.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.view().to_slice()
    }

    /// Like [`Array::as_slice`].
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        self.view_mut().into_slice()
    }

    pub fn view(&self) -> ArrayViewD<'_, T> {
        // SAFETY: the memory is ours, or the caller of `Lent::new` promised that it exists and is not written meanwhile.
        unsafe { self.elements.raw_view().deref_into_view() }
    }

    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { self.elements.raw_view_mut().deref_into_view_mut() }
    }
}

impl<T: Element> Clone for Array<T> {
    /// In owned memory.
    ///
    /// # Panics
    /// If memory cannot be allocated.
    fn clone(&self) -> Array<T> {
        let mut copy = Array::zeros(self.elements.shape().to_vec()).unwrap_or_else(|error| panic!("{error}"));
        copy.view_mut().assign(&self.view());
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
