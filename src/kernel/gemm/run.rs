//! Elements side by side, moved and added as vectors.

use num_complex::Complex;

use super::super::Element;
use super::super::simd::{Blend, BlendComplex, Both, Merge, Plus, Put, Real, Simd};
use crate::dtype::Dtype;

/// `len` reals merged into others.
///
/// # Safety
/// The instructions exist; `len` reals of both sides may be accessed as `merge` says.
#[inline(always)]
unsafe fn merge_run<S: Simd<R>, R: Real>(from: *const R, to: *mut R, len: usize, merge: impl Merge<R>) {
    let whole = len / S::LANES * S::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        for at in (0..whole).step_by(S::LANES) {
            merge.all::<S>(to.add(at), S::load(from.add(at)));
        }
        if whole < len {
            merge.first::<S>(to.add(whole), S::load_first(from.add(whole), len - whole), len - whole);
        }
    }
}

/// `to = from`
///
/// # Safety
/// The instructions exist; `len` elements may be read and written.
#[inline(always)]
pub(super) unsafe fn copy_run<S: Both, T: Element>(from: *const T, to: *mut T, len: usize) {
    // Elements of 4 bytes as numbers of 4, all others as numbers of 8: moves keep every bit.
    // SAFETY: the caller's promise.
    unsafe {
        if size_of::<T>() == 4 {
            merge_run::<S, f32>(from.cast(), to.cast(), len, Put);
        } else {
            merge_run::<S, f64>(from.cast(), to.cast(), len * (size_of::<T>() / 8), Put);
        }
    }
}

/// `to = from + beta to`; with beta 0, `to` is not read.
///
/// # Safety
/// The instructions exist; `len` elements of `from` may be read, those of `to` written, and read unless beta is 0.
#[inline(always)]
pub(super) unsafe fn add_run<S: Both, T: Element>(from: *const T, beta: T, to: *mut T, len: usize) {
    let Complex { re, im } = beta.to_c64();
    // SAFETY: the caller's promise; an element is one or two reals of the type that its dtype says.
    unsafe {
        if beta == T::ZERO {
            return copy_run::<S, T>(from, to, len);
        }
        let plain = beta == T::ONE;
        match T::DTYPE {
            Dtype::Float32 | Dtype::Complex64 if plain => {
                merge_run::<S, f32>(from.cast(), to.cast(), len * (size_of::<T>() / 4), Plus);
            }
            Dtype::Float64 | Dtype::Complex128 if plain => {
                merge_run::<S, f64>(from.cast(), to.cast(), len * (size_of::<T>() / 8), Plus);
            }
            Dtype::Float32 => {
                merge_run::<S, f32>(from.cast(), to.cast(), len, Blend { alpha: 1.0, beta: re as f32 });
            }
            Dtype::Float64 => merge_run::<S, f64>(from.cast(), to.cast(), len, Blend { alpha: 1.0, beta: re }),
            Dtype::Complex64 => {
                let merge = BlendComplex { alpha: Complex::new(1.0, 0.0), beta: Complex::new(re as f32, im as f32) };
                merge_run::<S, f32>(from.cast(), to.cast(), 2 * len, merge);
            }
            Dtype::Complex128 => {
                let merge = BlendComplex { alpha: Complex::new(1.0, 0.0), beta: Complex::new(re, im) };
                merge_run::<S, f64>(from.cast(), to.cast(), 2 * len, merge);
            }
        }
    }
}
