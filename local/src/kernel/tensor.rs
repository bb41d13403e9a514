//! The strided tensors of the kernels, cheaper to create than `ndarray` views.
//!
//! Invariants: every index refers to an initialised element, which no other code writes during the tensor's lifetime.
//! In a [`TensorMut`], distinct indices refer to distinct elements that no other code accesses.

use std::marker::PhantomData;

use ndarray::{ArrayViewD, ArrayViewMutD};

use crate::dims::Label;
use crate::local_plan::Layout;

/// A read-only tensor. Strides are in elements and may be negative or zero.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a, T> {
    pointer: *const T,
    pub(super) extents: &'a [usize],
    pub(super) strides: &'a [isize],
    /// Whether contractions conjugate the elements; ignored for real types.
    pub(super) conjugated: bool,
    elements: PhantomData<&'a T>,
}

#[derive(Debug)]
pub struct TensorMut<'a, T> {
    pointer: *mut T,
    pub(super) extents: &'a [usize],
    pub(super) strides: &'a [isize],
    elements: PhantomData<&'a mut T>,
}

impl<'a, T> Tensor<'a, T> {
    /// # Safety
    /// During `'a`, every index within the extents refers, relative to the pointer, to an initialised `T` that no code
    /// writes. The slices have the same length.
    pub unsafe fn new(pointer: *const T, extents: &'a [usize], strides: &'a [isize]) -> Self {
        Tensor { pointer, extents, strides, conjugated: false, elements: PhantomData }
    }

    /// The same tensor, conjugated in contractions if `conjugated` is true.
    #[must_use]
    pub fn conjugated_if(self, conjugated: bool) -> Self {
        Tensor { conjugated, ..self }
    }

    pub fn as_ptr(&self) -> *const T {
        self.pointer
    }

    pub fn layout(&self, labels: &'a [Label]) -> Layout<'a> {
        Layout::new(labels, self.extents, self.strides)
    }
}

impl<'a, T> TensorMut<'a, T> {
    /// # Safety
    /// During `'a`, every index within the extents refers, relative to the pointer, to an initialised `T` that no other
    /// code reads or writes. Different indices refer to different elements. The slices have the same length.
    pub unsafe fn new(pointer: *mut T, extents: &'a [usize], strides: &'a [isize]) -> Self {
        TensorMut { pointer, extents, strides, elements: PhantomData }
    }

    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.pointer
    }

    pub fn layout(&self, labels: &'a [Label]) -> Layout<'a> {
        Layout::new(labels, self.extents, self.strides)
    }
}

impl<'a, T> From<&'a ArrayViewD<'_, T>> for Tensor<'a, T> {
    fn from(view: &'a ArrayViewD<'_, T>) -> Self {
        // SAFETY: a view meets the requirements of `Tensor::new` for as long as it is borrowed.
        unsafe { Tensor::new(view.as_ptr(), view.shape(), view.strides()) }
    }
}

impl<'a, T> From<&'a mut ArrayViewMutD<'_, T>> for TensorMut<'a, T> {
    fn from(view: &'a mut ArrayViewMutD<'_, T>) -> Self {
        let pointer = view.as_mut_ptr();
        // SAFETY: a mutable view meets the requirements of `TensorMut::new` for as long as it is borrowed exclusively.
        unsafe { TensorMut::new(pointer, view.shape(), view.strides()) }
    }
}
