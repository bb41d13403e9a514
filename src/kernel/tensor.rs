//! A strided tensor as kernels see it: where it begins, extents and strides.
//!
//! What an `ndarray` view is, without its costs: a run of thousands of small contractions makes three of these for each.
//! Invariants: every index within the extents reaches an element that holds a value and that nobody else writes while the
//! tensor is borrowed; of a [`TensorMut`] distinct indices reach distinct elements, and nobody else touches them.

use std::marker::PhantomData;

use ndarray::{ArrayViewD, ArrayViewMutD};

/// A tensor to read. Strides count elements and may be negative or zero.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a, T> {
    pointer: *const T,
    pub(crate) extents: &'a [usize],
    pub(crate) strides: &'a [isize],
    elements: PhantomData<&'a T>,
}

/// A tensor to read and write.
#[derive(Debug)]
pub struct TensorMut<'a, T> {
    pointer: *mut T,
    pub(crate) extents: &'a [usize],
    pub(crate) strides: &'a [isize],
    elements: PhantomData<&'a mut T>,
}

impl<'a, T> Tensor<'a, T> {
    /// # Safety
    /// For `'a`, every index within the extents reaches a `T` behind the pointer, with a value, that nobody writes. The slices
    /// have one length.
    pub unsafe fn new(pointer: *const T, extents: &'a [usize], strides: &'a [isize]) -> Self {
        Tensor { pointer, extents, strides, elements: PhantomData }
    }

    pub fn as_ptr(&self) -> *const T {
        self.pointer
    }
}

impl<'a, T> TensorMut<'a, T> {
    /// # Safety
    /// For `'a`, every index within the extents reaches a `T` behind the pointer, with a value, another one for every index,
    /// that nobody else reads or writes. The slices have one length.
    pub unsafe fn new(pointer: *mut T, extents: &'a [usize], strides: &'a [isize]) -> Self {
        TensorMut { pointer, extents, strides, elements: PhantomData }
    }

    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.pointer
    }
}

impl<'a, T> From<&'a ArrayViewD<'_, T>> for Tensor<'a, T> {
    fn from(view: &'a ArrayViewD<'_, T>) -> Self {
        // SAFETY: this is what a view promises for as long as it is borrowed.
        unsafe { Tensor::new(view.as_ptr(), view.shape(), view.strides()) }
    }
}

impl<'a, T> From<&'a mut ArrayViewMutD<'_, T>> for TensorMut<'a, T> {
    fn from(view: &'a mut ArrayViewMutD<'_, T>) -> Self {
        let pointer = view.as_mut_ptr();
        // SAFETY: this is what a mutable view promises for as long as it is borrowed alone.
        unsafe { TensorMut::new(pointer, view.shape(), view.strides()) }
    }
}
