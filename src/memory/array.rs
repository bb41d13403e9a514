//! An array of elements in owned or lent memory, and slices of elements as bytes.
//!
//! Invariant: owned elements are contiguous in row-major order; new pages are untouched.

use std::fmt;

use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn, RawArrayViewMut};

use super::{Aligned, OutOfMemory};
use crate::kernel::Element;

pub struct Array<T> {
    memory: Memory<T>,
    extents: Vec<usize>,
}

enum Memory<T> {
    Owned(Aligned),
    Lent(RawArrayViewMut<T, IxDyn>),
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("extents", &self.extents).finish_non_exhaustive()
    }
}

// SAFETY: a lent array is accessed only through borrows of its `Array` (`Lent::new`), and elements are `Send`.
unsafe impl<T: Element> Send for Memory<T> {}
// SAFETY: as above; shared borrows only read.
unsafe impl<T: Element> Sync for Memory<T> {}

/// A caller's array of any strides, as a rank's block ([`DistTensor::lent`](crate::DistTensor::lent)).
#[derive(Debug)]
pub struct Lent<T>(pub(crate) Array<T>);

impl<T: Element> Lent<T> {
    /// # Safety
    /// The array must outlive the result. Meanwhile, it may be accessed by others only if all, and programs, read it.
    pub unsafe fn new(mut array: ArrayViewMutD<'_, T>) -> Lent<T> {
        Lent(Array { extents: array.shape().to_vec(), memory: Memory::Lent(array.raw_view_mut()) })
    }
}

impl<T: Element> Array<T> {
    /// # Errors
    /// If the system refuses the allocation, or the size overflows.
    pub fn zeros(extents: Vec<usize>) -> Result<Array<T>, OutOfMemory> {
        let bytes = extents.iter().try_fold(size_of::<T>(), |bytes, &extent| bytes.checked_mul(extent));
        let memory = Aligned::zeroed(bytes.ok_or(OutOfMemory { bytes: usize::MAX })?, &Default::default())?;
        Ok(Array { memory: Memory::Owned(memory), extents })
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
        match &self.memory {
            Memory::Owned(memory) => {
                let bytes = memory.as_slice();
                // SAFETY: the memory has this many elements and is aligned to 64 bytes. Every byte pattern is a valid
                // value of the sealed `Element` types.
                let elements =
                    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) };
                let view = ArrayViewD::from_shape(self.extents.as_slice(), elements);
                view.unwrap_or_else(|_| unreachable!("the memory has as many elements as the extents say"))
            }
            // SAFETY: the caller of `Lent::new` promised that the array exists and is not written meanwhile.
            Memory::Lent(array) => unsafe { array.raw_view().deref_into_view() },
        }
    }

    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        match &mut self.memory {
            Memory::Owned(memory) => {
                let bytes = memory.as_mut_slice();
                // SAFETY: as above, and the borrow is exclusive.
                let elements =
                    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) };
                let view = ArrayViewMutD::from_shape(self.extents.as_slice(), elements);
                view.unwrap_or_else(|_| unreachable!("the memory has as many elements as the extents say"))
            }
            // SAFETY: as above, and the borrow is exclusive.
            Memory::Lent(array) => unsafe { array.raw_view_mut().deref_into_view_mut() },
        }
    }
}

impl<T: Element> Clone for Array<T> {
    /// In owned memory.
    ///
    /// # Panics
    /// If memory cannot be allocated.
    fn clone(&self) -> Array<T> {
        let mut copy = Array::zeros(self.extents.clone()).unwrap_or_else(|error| panic!("{error}"));
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
