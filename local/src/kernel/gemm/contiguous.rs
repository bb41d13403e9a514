//! Copies and adds contiguous elements as vectors.

use num_complex::Complex;

use super::super::Element;
use super::super::simd::{Blend, Both, Merge, Plus, Put, Real, Simd};
use crate::dtype::Dtype;

/// # Safety
/// The processor must support the instruction set `S`. `len` reals at `from` and at `to` must be accessible as `merge`
/// requires.
#[inline(always)]
unsafe fn merge_run<S: Simd<R>, R: Real>(from: *const R, to: *mut R, len: usize, merge: impl Merge<R>) {
    let whole = len / S::LANES * S::LANES;
    // SAFETY: guaranteed by the caller.
    unsafe {
        for at in (0..whole).step_by(S::LANES) {
            merge.all::<S>(to.add(at), S::load(from.add(at)));
        }
        if whole < len {
            merge.first::<S>(to.add(whole), S::load_first(from.add(whole), len - whole), len - whole);
        }
    }
}

/// # Safety
/// The processor must support the instruction set `S`. `len` elements at `from` must be readable, and `len` elements at
/// `to` must be writable.
#[inline(always)]
pub(super) unsafe fn copy_run<S: Both, T: Element>(from: *const T, to: *mut T, len: usize) {
    // Moves as `f32` or `f64` preserve every bit.
    // SAFETY: guaranteed by the caller.
    unsafe {
        if size_of::<T>() == 4 {
            merge_run::<S, f32>(from.cast(), to.cast(), len, Put);
        } else {
            merge_run::<S, f64>(from.cast(), to.cast(), len * (size_of::<T>() / 8), Put);
        }
    }
}

/// Computes `to = from + beta to`. If `beta` is 0, `to` is not read.
///
/// # Safety
/// The processor must support the instruction set `S`. `len` elements of `from` must be readable. `len` elements of
/// `to` must be writable, and initialised unless `beta` is 0.
#[inline(always)]
pub(super) unsafe fn add_run<S: Both, T: Element>(from: *const T, beta: T, to: *mut T, len: usize) {
    let Complex { re, im } = beta.to_c64();
    // SAFETY: guaranteed by the caller; an element consists of one or two reals of the type that its dtype names.
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
            Dtype::Float32 => merge_run::<S, f32>(from.cast(), to.cast(), len, blend(re as f32)),
            Dtype::Float64 => merge_run::<S, f64>(from.cast(), to.cast(), len, blend(re)),
            Dtype::Complex64 => {
                let beta = Complex::new(re as f32, im as f32);
                merge_run::<S, f32>(from.cast(), to.cast(), 2 * len, blend(beta));
            }
            Dtype::Complex128 => merge_run::<S, f64>(from.cast(), to.cast(), 2 * len, blend(Complex::new(re, im))),
        }
    }
}

fn blend<F: Element>(beta: F) -> Blend<F> {
    Blend { alpha: F::ONE, beta: Some(beta) }
}
