//! SIMD vectors of real numbers, and code that is compiled once for each instruction set.
//!
//! One marker type for each instruction set implements [`Simd`]. [`dispatch`] runs a [`Body`], which is generic over
//! them, for one [`Isa`], which must be [`available`]. All functions that a body calls are `#[inline(always)]`, so that
//! they are compiled for the same instruction set.
//!
//! Complex vectors are real vectors of twice the length.

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

macro_rules! inlined {
    ($($name:ident($($argument:tt: $type:ty),*) $(-> $out:ty)? = $value:expr;)*) => { $(
        /// # Safety
        /// As the trait requires.
        #[inline(always)]
        unsafe fn $name($($argument: $type),*) $(-> $out)? {
            // SAFETY: guaranteed by the caller.
            unsafe { $value }
        }
    )* };
}
pub(super) use inlined;

/// In place of a cast between vectors of `f32` and `f64`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn same<V>(vector: V) -> V {
    vector
}

/// The supertrait of [`Real`] for generated code.
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use super::xsmm::Real as Generated;

/// Otherwise an empty supertrait.
#[cfg(not(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub trait Generated {}
#[cfg(not(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl<R: Copy> Generated for R {}

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

    /// Like [`dispatch`], for one real type.
    ///
    /// # Safety
    /// The processor must support `isa`, and the body's own requirements must hold.
    unsafe fn dispatch<B: RealBody<Self>>(isa: Isa, body: B) -> B::Output;
}

pub trait RealBody<R: Real> {
    type Output;

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

/// # Safety
/// Every function may be called only if the processor supports the instruction set. Pointers need no alignment. Sources
/// must be readable, and destinations writable, for the number of elements that each function states.
pub trait Simd<R: Real>: Copy + 'static {
    type Vector: Copy;

    const LANES: usize;

    /// Whether functions may be compiled separately from their [`Body`].
    const PORTABLE: bool = false;

    unsafe fn zero() -> Self::Vector;

    unsafe fn splat(value: R) -> Self::Vector;

    unsafe fn load(from: *const R) -> Self::Vector;

    unsafe fn store(to: *mut R, vector: Self::Vector);

    /// Loads the first `count` lanes, up to `LANES`. The others are 0; their memory is not accessed.
    unsafe fn load_first(from: *const R, count: usize) -> Self::Vector;

    /// Like [`Simd::load_first`], for stores.
    unsafe fn store_first(to: *mut R, vector: Self::Vector, count: usize);

    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// Swaps lanes 2 i and 2 i + 1.
    unsafe fn swap_pairs(a: Self::Vector) -> Self::Vector;

    unsafe fn dup_even(a: Self::Vector) -> Self::Vector;

    unsafe fn dup_odd(a: Self::Vector) -> Self::Vector;

    /// Returns `a - b` in even lanes and `a + b` in odd lanes.
    unsafe fn sub_add(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Loads each piece of 16 bytes from its own address; shorter vectors use only the first addresses.
    unsafe fn load_pieces(from: [*const R; 4]) -> Self::Vector;

    /// Like [`Simd::load_pieces`], for stores.
    unsafe fn store_pieces(to: [*mut R; 4], vector: Self::Vector);

    /// Interleaves the 4-byte words of the first halves of each piece of 16 bytes of `a` and `b`.
    unsafe fn low_4(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Like [`Simd::low_4`], for the second halves.
    unsafe fn high_4(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Concatenates the first 8 bytes of each piece of 16 bytes of `a` and `b`.
    unsafe fn low_8(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Like [`Simd::low_8`], for the last 8 bytes.
    unsafe fn high_8(a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Piece i (16 bytes) of vector j becomes piece j of vector i, for the first n vectors if they have n < 4 pieces.
    unsafe fn exchange(vectors: [Self::Vector; 4]) -> [Self::Vector; 4];

    /// Picks 4-byte words by their indices in the concatenation of `a` and `b`.
    unsafe fn pick_words(a: Self::Vector, b: Self::Vector, indices: &Indices) -> Self::Vector;

    #[inline(always)]
    unsafe fn pick_within(a: Self::Vector, indices: &Indices) -> Self::Vector {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::pick_words(a, a, indices) }
    }

    /// Bypasses the caches if possible. `to` is aligned to the vector's size, and a [`fence`] precedes reads of other
    /// threads.
    unsafe fn stream(to: *mut R, vector: Self::Vector);

    /// Returns the sums of as many vectors as a vector has elements of `PARTS` lanes.
    #[inline(always)]
    unsafe fn lane_sums<const PARTS: usize>(mut vectors: [Self::Vector; 16]) -> Self::Vector {
        let [even, odd] = const {
            let (words, p) = (Self::LANES * size_of::<R>() / 4, PARTS * size_of::<R>() / 4);
            &[half(words, p, 0), half(words, p, 1)]
        };
        let mut size = Self::LANES / PARTS;
        while size > 1 {
            size /= 2;
            for i in 0..size {
                let (a, b) = (vectors[2 * i], vectors[2 * i + 1]);
                // SAFETY: guaranteed by the caller.
                vectors[i] = unsafe { Self::add(Self::pick_words(a, b, even), Self::pick_words(a, b, odd)) };
            }
        }
        vectors[0]
    }

    /// Adds all lanes in a fixed order.
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

pub(super) trait Both: Simd<f32> + Simd<f64> {}

impl<S: Simd<f32> + Simd<f64>> Both for S {}

pub(super) trait Body {
    type Output;

    /// # Safety
    /// The processor must support the instruction set `S`, and the body's own requirements must hold.
    unsafe fn run<S: Both>(self) -> Self::Output;
}

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

/// One function with several portable bodies would compile very slowly.
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

pub(super) type Indices = [u32; 16];

/// Picks the even, or the odd, elements of two vectors: `p` of their `words` are an element.
pub(super) const fn half(words: usize, p: usize, odd: usize) -> Indices {
    let (mut indices, mut word) = ([0; 16], 0);
    while word < words {
        indices[word] = ((word / p * 2 + odd) * p + word % p) as u32;
        word += 1;
    }
    indices
}

/// Prefetches the cache line at any address, even an invalid one.
#[inline(always)]
pub fn prefetch<R>(from: *const R) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 target has SSE, and a prefetch never faults.
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
    // SAFETY: every x86-64 target has SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

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
        // Every AArch64 target has NEON.
        #[cfg(all(target_arch = "aarch64", not(portable_kernels)))]
        Isa::Neon => true,
        _ => false,
    }
}

pub fn widest() -> Isa {
    *[Isa::Avx512, Isa::Avx2, Isa::Neon].iter().find(|&&isa| available(isa)).unwrap_or(&Isa::Generic)
}
