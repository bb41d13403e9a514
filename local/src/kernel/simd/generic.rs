//! Vectors as arrays of 16 bytes.

use super::Simd;

#[derive(Clone, Copy)]
pub(in super::super) struct Generic;

/// The words with the numbers in `order`, from `a` followed by `b`.
#[inline(always)]
fn words<V: Copy, W: Copy, const N: usize>(a: V, b: V, order: [usize; N]) -> V {
    const { assert!(size_of::<V>() == 16 && size_of::<W>() * N == 16) };
    // SAFETY: both types have 16 bytes, as asserted. Callers (all in this module) pass arrays of numbers, for which
    // every bit pattern is valid.
    let [a, b]: [[W; N]; 2] = unsafe { [std::mem::transmute_copy(&a), std::mem::transmute_copy(&b)] };
    let all = order.map(|at| if at < N { a[at] } else { b[at - N] });
    // SAFETY: as above.
    unsafe { std::mem::transmute_copy(&all) }
}

macro_rules! generic {
    ($real:ty, $lanes:literal) => {
        impl Simd<$real> for Generic {
            type Vector = [$real; $lanes];

            const LANES: usize = $lanes;

            const PORTABLE: bool = true;

            #[inline(always)]
            unsafe fn zero() -> Self::Vector {
                [0.0; $lanes]
            }

            #[inline(always)]
            unsafe fn splat(value: $real) -> Self::Vector {
                [value; $lanes]
            }

            #[inline(always)]
            unsafe fn load(from: *const $real) -> Self::Vector {
                // SAFETY: guaranteed by the caller; no alignment is needed.
                unsafe { from.cast::<Self::Vector>().read_unaligned() }
            }

            #[inline(always)]
            unsafe fn store(to: *mut $real, vector: Self::Vector) {
                // SAFETY: as above.
                unsafe { to.cast::<Self::Vector>().write_unaligned(vector) }
            }

            #[inline(always)]
            unsafe fn load_first(from: *const $real, count: usize) -> Self::Vector {
                // SAFETY: lanes below `count` may be read.
                std::array::from_fn(|lane| if lane < count { unsafe { from.add(lane).read_unaligned() } } else { 0.0 })
            }

            #[inline(always)]
            unsafe fn store_first(to: *mut $real, vector: Self::Vector, count: usize) {
                for (lane, &value) in vector.iter().enumerate().take(count) {
                    // SAFETY: lanes below `count` may be written.
                    unsafe { to.add(lane).write_unaligned(value) };
                }
            }

            #[inline(always)]
            unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] + b[lane])
            }

            #[inline(always)]
            unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] * b[lane])
            }

            #[inline(always)]
            unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] * b[lane] + c[lane])
            }

            #[inline(always)]
            unsafe fn swap_pairs(a: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane ^ 1])
            }

            #[inline(always)]
            unsafe fn dup_even(a: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane & !1])
            }

            #[inline(always)]
            unsafe fn dup_odd(a: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane | 1])
            }

            #[inline(always)]
            unsafe fn sub_add(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| if lane % 2 == 0 { a[lane] - b[lane] } else { a[lane] + b[lane] })
            }

            #[inline(always)]
            unsafe fn load_pieces(from: [*const $real; 4]) -> Self::Vector {
                // SAFETY: guaranteed by the caller; a vector consists of one 16-byte piece.
                unsafe { Self::load(from[0]) }
            }

            #[inline(always)]
            unsafe fn store_pieces(to: [*mut $real; 4], vector: Self::Vector) {
                // SAFETY: as above.
                unsafe { Self::store(to[0], vector) }
            }

            #[inline(always)]
            unsafe fn low_4(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                words::<_, u32, 4>(a, b, [0, 4, 1, 5])
            }

            #[inline(always)]
            unsafe fn high_4(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                words::<_, u32, 4>(a, b, [2, 6, 3, 7])
            }

            #[inline(always)]
            unsafe fn low_8(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                words::<_, u64, 2>(a, b, [0, 2])
            }

            #[inline(always)]
            unsafe fn high_8(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                words::<_, u64, 2>(a, b, [1, 3])
            }

            #[inline(always)]
            unsafe fn pick_words(a: Self::Vector, b: Self::Vector, indices: &[u32; 16]) -> Self::Vector {
                words::<_, u32, 4>(a, b, std::array::from_fn(|word| indices[word] as usize))
            }

            #[inline(always)]
            unsafe fn exchange(vectors: [Self::Vector; 4]) -> [Self::Vector; 4] {
                vectors
            }

            #[inline(always)]
            unsafe fn stream(to: *mut $real, vector: Self::Vector) {
                // SAFETY: the requirements are those of `store`.
                unsafe { Self::store(to, vector) }
            }
        }
    };
}

generic!(f32, 4);
generic!(f64, 2);
