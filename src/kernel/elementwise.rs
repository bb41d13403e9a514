//! Fill, scale, copy and add for tensors of one shape and any strides.

use ndarray::{ArrayViewD, ArrayViewMutD};

use super::Element;
use super::strided::{Combine, Plus, Put, threads_for, zip};
use crate::local::Dim;

/// out = input
///
/// # Panics
/// If the shapes differ.
pub fn copy<T: Element>(input: ArrayViewD<T>, out: ArrayViewMutD<T>) {
    combine(input, out, &Put);
}

/// out = out + input
///
/// # Panics
/// If the shapes differ.
pub fn add<T: Element>(input: ArrayViewD<T>, out: ArrayViewMutD<T>) {
    combine(input, out, &Plus);
}

/// Every element of out = value; out is not read.
pub fn fill<T: Element>(value: T, out: ArrayViewMutD<T>) {
    broadcast(value, out, &Put);
}

/// out = factor out; with factor 0, out is not read.
pub fn scale<T: Element>(factor: T, out: ArrayViewMutD<T>) {
    if factor == T::ZERO {
        fill(T::ZERO, out);
    } else if factor != T::ONE {
        broadcast(factor, out, &Times);
    }
}

/// to = value to
struct Times;

impl<T: Element> Combine<T> for Times {
    /// # Safety
    /// As the trait says.
    #[inline(always)]
    unsafe fn combine(&self, to: *mut T, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *to *= value }
    }
}

fn combine<T: Element>(input: ArrayViewD<T>, mut out: ArrayViewMutD<T>, combine: &impl Combine<T>) {
    assert_eq!(input.shape(), out.shape(), "tensors of different shapes");
    let strides = input.strides().iter().zip(out.strides());
    let dims = out.shape().iter().zip(strides);
    let dims = dims.map(|(&extent, (&from, &to))| Dim { extent, strides: [from, to] }).collect();
    let threads = threads_for(out.len());
    // SAFETY: the loops visit the indices of both views, which have one shape; out is borrowed mutably, so its elements
    // are distinct and nobody else's.
    unsafe { zip(dims, input.as_ptr(), out.as_mut_ptr(), combine, threads) }
}

fn broadcast<T: Element>(value: T, mut out: ArrayViewMutD<T>, combine: &impl Combine<T>) {
    let dims = out.shape().iter().zip(out.strides());
    let dims = dims.map(|(&extent, &to)| Dim { extent, strides: [0, to] }).collect();
    let threads = threads_for(out.len());
    // SAFETY: the source stays at `value`; the loops visit the indices of out, which is borrowed mutably.
    unsafe { zip(dims, &value, out.as_mut_ptr(), combine, threads) }
}
