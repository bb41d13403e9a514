//! Provides SIMD vectors of real numbers for every instruction set, and compiles code once for each instruction set.
//!
//! One marker type per instruction set implements [`Simd`]. Code that is generic over [`Simd`] is written as a
//! [`Body`]; [`dispatch`] runs the body's version for one [`Isa`]. All functions that a body calls are
//! `#[inline(always)]`. They are therefore inlined into the function that [`dispatch`] calls, and compiled for the same
//! instruction set as that function.
//!
//! An [`Isa`] is passed to [`dispatch`] only if it is [`available`]. This module has no complex vectors, because a
//! vector of complex numbers is a real vector of twice the length.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod generic;
mod merge;
#[cfg(target_arch = "aarch64")]
mod neon;
mod tile;

use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub};

pub(super) use generic::Generic;
pub(super) use merge::{Blend, Factor, Merge, Plus, Put};
pub(super) use tile::{Size, transpose_square, transpose_squares};

#[cfg(target_arch = "x86_64")]
pub(super) use {avx2::Avx2, avx512::Avx512};

#[cfg(target_arch = "aarch64")]
pub(super) use neon::Neon;

use crate::local_plan::Isa;

/// If LIBXSMM is enabled, the trait that generates code for a real type. It is a supertrait of [`Real`].
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use super::xsmm::Real as Generated;

/// If LIBXSMM is not enabled, an empty supertrait of [`Real`], so that [`Real`] is declared only once.
#[cfg(not(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub trait Generated {}
#[cfg(not(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl<R: Copy> Generated for R {}

/// The type of the real numbers in a vector. A tensor element is one real number, or two if it is complex.
pub trait Real:
    Generated
    + Copy
    + Send
    + Sync
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + MulAssign
    + 'static
{
    const ZERO: Self;
    const ONE: Self;

    /// Like [`dispatch`], for code that uses vectors of one real type only.
    ///
    /// # Safety
    /// The processor must support `isa`, and the body's own requirements must hold.
    unsafe fn dispatch<B: RealBody<Self>>(isa: Isa, body: B) -> B::Output;
}

/// Code for vectors of one real type, to be compiled for every instruction set.
pub trait RealBody<R: Real> {
    type Output;

    /// Runs the code.
    ///
    /// # Safety
    /// The processor must support the instruction set `S`, and the body's own requirements must hold.
    unsafe fn run<S: Simd<R>>(self) -> Self::Output;
}

macro_rules! real {
    ($real:ty, $of:ident) => {
        struct $of<B>(B);

        impl<B: RealBody<$real>> Body for $of<B> {
            type Output = B::Output;

            #[inline(always)]
            unsafe fn run<S: Both>(self) -> B::Output {
                // SAFETY: guaranteed by the caller.
                unsafe { self.0.run::<S>() }
            }
        }

        impl Real for $real {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            unsafe fn dispatch<B: RealBody<Self>>(isa: Isa, body: B) -> B::Output {
                // SAFETY: guaranteed by the caller.
                unsafe { dispatch(isa, $of(body)) }
            }
        }
    };
}

real!(f32, Of32);
real!(f64, Of64);

/// Vectors of `R` for one instruction set.
///
/// # Safety
/// Every function may be called only if the processor supports the instruction set. Pointers need no alignment. Sources
/// must be readable, and destinations writable, for the number of elements that each function states.
pub trait Simd<R: Real>: Copy + 'static {
    type Vector: Copy;

    const LANES: usize;

    /// Whether the code is portable, so that functions may be compiled separately from the [`Body`] that calls them.
    const PORTABLE: bool = false;

    /// Returns a vector with 0 in every lane.
    unsafe fn zero() -> Self::Vector;

    unsafe fn splat(value: R) -> Self::Vector;

    /// Loads `LANES` elements.
    unsafe fn load(from: *const R) -> Self::Vector;

    /// Stores `LANES` elements.
    unsafe fn store(to: *mut R, vector: Self::Vector);

    /// Loads the first `count` lanes, for `count` up to `LANES`. The other lanes are 0, and their memory is not
    /// accessed.
    unsafe fn load_first(from: *const R, count: usize) -> Self::Vector;

    /// Stores the first `count` lanes, for `count` up to `LANES`. The memory of the other lanes is not accessed.
    unsafe fn store_first(to: *mut R, vector: Self::Vector, count: usize);

    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns `a b + c`.
    unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// Swaps lanes 2 i and 2 i + 1, which are the real and the imaginary part of a complex number.
    unsafe fn swap_pairs(a: Self::Vector) -> Self::Vector;

    /// Copies each even lane to the next lane, which duplicates the real parts of complex numbers.
    unsafe fn dup_even(a: Self::Vector) -> Self::Vector;

    /// Copies each odd lane to the previous lane, which duplicates the imaginary parts of complex numbers.
    unsafe fn dup_odd(a: Self::Vector) -> Self::Vector;

    /// Returns `a - b` in even lanes and `a + b` in odd lanes.
    unsafe fn sub_add(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Loads a vector in pieces of 16 bytes. Piece i is loaded from `from[i]`. Vectors shorter than 64 bytes use only
    /// the first addresses.
    unsafe fn load_pieces(from: [*const R; 4]) -> Self::Vector;

    /// Stores a vector in pieces of 16 bytes. Piece i is stored at `to[i]`. Vectors shorter than 64 bytes use only the
    /// first addresses.
    unsafe fn store_pieces(to: [*mut R; 4], vector: Self::Vector);

    /// For each piece of 16 bytes, interleaves the two 4-byte words in the first half of the piece of `a` with those of
    /// `b`.
    unsafe fn low_4(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// For each piece of 16 bytes, interleaves the two 4-byte words in the second half of the piece of `a` with those
    /// of `b`.
    unsafe fn high_4(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// For each piece of 16 bytes, concatenates the first 8 bytes of the piece of `a` and the first 8 bytes of the
    /// piece of `b`.
    unsafe fn low_8(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// For each piece of 16 bytes, concatenates the last 8 bytes of the piece of `a` and the last 8 bytes of the piece
    /// of `b`.
    unsafe fn high_8(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Transposes the pieces of 16 bytes, so that piece i of vector j becomes piece j of vector i. If a vector has only
    /// n < 4 pieces, only the first n vectors are transposed, and the other vectors are unchanged.
    unsafe fn exchange(vectors: [Self::Vector; 4]) -> [Self::Vector; 4];

    /// Like [`Simd::store`], but bypasses the caches if the instruction set has such a store. `to` is aligned to the
    /// vector's size, and the caller calls [`fence`] before another thread reads the data.
    unsafe fn stream(to: *mut R, vector: Self::Vector);

    /// Returns the sum of all lanes, which are added in a fixed order.
    #[inline(always)]
    unsafe fn sum(a: Self::Vector) -> R {
        let mut lanes = [R::ZERO; 16];
        // SAFETY: no instruction set has more than 16 lanes.
        unsafe { Self::store(lanes.as_mut_ptr(), a) };
        let mut width = Self::LANES;
        while width > 1 {
            width /= 2;
            for i in 0..width {
                lanes[i] += lanes[i + width];
            }
        }
        lanes[0]
    }
}

/// An instruction set with vectors of both real types.
pub(super) trait Both: Simd<f32> + Simd<f64> {}

impl<S: Simd<f32> + Simd<f64>> Both for S {}

/// Code to be compiled for every instruction set.
pub(super) trait Body {
    type Output;

    /// Runs the code.
    ///
    /// # Safety
    /// The processor must support the instruction set `S`, and the body's own requirements must hold.
    unsafe fn run<S: Both>(self) -> Self::Output;
}

/// Runs the version of a body that is compiled for an instruction set.
///
/// # Safety
/// The processor must support `isa`, and the body's own requirements must hold.
#[inline(always)]
pub(super) unsafe fn dispatch<B: Body>(isa: Isa, body: B) -> B::Output {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match isa {
            #[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
            Isa::Avx2 => on_avx2(body),
            #[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
            Isa::Avx512 => on_avx512(body),
            #[cfg(all(target_arch = "aarch64", not(portable_kernels)))]
            Isa::Neon => body.run::<Neon>(),
            _ => on_any(body),
        }
    }
}

/// Not inlined, because a function that contains several portable bodies takes the compiler very long.
///
/// # Safety
/// Same as for [`dispatch`].
#[inline(never)]
unsafe fn on_any<B: Body>(body: B) -> B::Output {
    // SAFETY: guaranteed by the caller.
    unsafe { body.run::<Generic>() }
}

/// # Safety
/// Same as for [`dispatch`].
#[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
#[target_feature(enable = "avx2,fma")]
unsafe fn on_avx2<B: Body>(body: B) -> B::Output {
    // SAFETY: guaranteed by the caller.
    unsafe { body.run::<Avx2>() }
}

/// # Safety
/// Same as for [`dispatch`].
#[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
unsafe fn on_avx512<B: Body>(body: B) -> B::Output {
    // SAFETY: guaranteed by the caller.
    unsafe { body.run::<Avx512>() }
}

/// Prefetches the cache line at an address. Invalid addresses are allowed.
#[inline(always)]
pub(crate) fn prefetch<R>(from: *const R) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86-64 target, and a prefetch is a hint, which never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(from.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = from;
}

/// Makes the stores of [`Simd::stream`] visible to threads with which the caller synchronises afterwards.
#[inline(always)]
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86-64 target.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

/// Whether this machine supports an instruction set.
pub fn available(isa: Isa) -> bool {
    match isa {
        Isa::Generic => true,
        #[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
        Isa::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        #[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
        Isa::Avx512 => {
            available(Isa::Avx2)
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
        }
        // NEON is part of every AArch64 target.
        #[cfg(all(target_arch = "aarch64", not(portable_kernels)))]
        Isa::Neon => true,
        _ => false,
    }
}

/// Returns the widest instruction set that this machine supports.
pub fn widest() -> Isa {
    *[Isa::Avx512, Isa::Avx2, Isa::Neon].iter().find(|&&isa| available(isa)).unwrap_or(&Isa::Generic)
}
