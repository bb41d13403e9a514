//! Implements vectors with NEON, which every AArch64 target has: 4 lanes of `f32` or 2 of `f64`.

use std::arch::aarch64::*;

use super::Simd;

#[derive(Clone, Copy)]
pub(in super::super) struct Neon;

#[inline(always)]
fn same<V>(a: V) -> V {
    a
}

macro_rules! neon {
    ($real:ty, $vector:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $mul:ident,
     $mul_add:ident, $swap:expr, $to_f32:ident, $from_f32:ident, $to_f64:ident, $from_f64:ident,
     $even:ident, $odd:ident, $sum:ident) => {
        impl Simd<$real> for Neon {
            type Vector = $vector;

            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> $vector {
                // SAFETY: the target has the instructions.
                unsafe { $splat(0.0) }
            }

            #[inline(always)]
            unsafe fn splat(value: $real) -> $vector {
                // SAFETY: as above.
                unsafe { $splat(value) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $real) -> $vector {
                // SAFETY: as above, and the elements may be read.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(to: *mut $real, vector: $vector) {
                // SAFETY: as above, and the elements may be written.
                unsafe { $store(to, vector) }
            }

            #[inline(always)]
            unsafe fn load_first(from: *const $real, count: usize) -> $vector {
                let mut lanes = [0.0; $lanes];
                for (lane, value) in lanes.iter_mut().enumerate().take(count) {
                    // SAFETY: lanes below `count` may be read.
                    *value = unsafe { from.add(lane).read_unaligned() };
                }
                // SAFETY: the array has one element per lane.
                unsafe { $load(lanes.as_ptr()) }
            }

            #[inline(always)]
            unsafe fn store_first(to: *mut $real, vector: $vector, count: usize) {
                let mut lanes = [0.0; $lanes];
                // SAFETY: the array has one element per lane.
                unsafe { $store(lanes.as_mut_ptr(), vector) };
                for (lane, &value) in lanes.iter().enumerate().take(count) {
                    // SAFETY: lanes below `count` may be written.
                    unsafe { to.add(lane).write_unaligned(value) };
                }
            }

            #[inline(always)]
            unsafe fn add(a: $vector, b: $vector) -> $vector {
                // SAFETY: the target has the instructions.
                unsafe { $add(a, b) }
            }

            #[inline(always)]
            unsafe fn mul(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $mul(a, b) }
            }

            #[inline(always)]
            unsafe fn mul_add(a: $vector, b: $vector, c: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $mul_add(c, a, b) }
            }

            #[inline(always)]
            unsafe fn swap_pairs(a: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $swap(a) }
            }

            #[inline(always)]
            unsafe fn dup_even(a: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $even(a, a) }
            }

            #[inline(always)]
            unsafe fn dup_odd(a: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $odd(a, a) }
            }

            #[inline(always)]
            unsafe fn sum(a: $vector) -> $real {
                // SAFETY: as above.
                unsafe { $sum(a) }
            }

            #[inline(always)]
            unsafe fn sub_add(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above; the array has one element per lane.
                unsafe {
                    let signs: [$real; $lanes] = std::array::from_fn(|lane| if lane % 2 == 0 { -1.0 } else { 1.0 });
                    $mul_add(a, b, $load(signs.as_ptr()))
                }
            }

            #[inline(always)]
            unsafe fn load_pieces(from: [*const $real; 4]) -> $vector {
                // SAFETY: as above; a vector consists of one 16-byte piece.
                unsafe { $load(from[0]) }
            }

            #[inline(always)]
            unsafe fn store_pieces(to: [*mut $real; 4], vector: $vector) {
                // SAFETY: as above.
                unsafe { $store(to[0], vector) }
            }

            #[inline(always)]
            unsafe fn low_4(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $from_f32(vzip1q_f32($to_f32(a), $to_f32(b))) }
            }

            #[inline(always)]
            unsafe fn high_4(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $from_f32(vzip2q_f32($to_f32(a), $to_f32(b))) }
            }

            #[inline(always)]
            unsafe fn low_8(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $from_f64(vzip1q_f64($to_f64(a), $to_f64(b))) }
            }

            #[inline(always)]
            unsafe fn high_8(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $from_f64(vzip2q_f64($to_f64(a), $to_f64(b))) }
            }

            #[inline(always)]
            unsafe fn exchange(vectors: [$vector; 4]) -> [$vector; 4] {
                vectors
            }

            #[inline(always)]
            unsafe fn stream(to: *mut $real, vector: $vector) {
                // SAFETY: the requirements are those of `store`.
                unsafe { $store(to, vector) }
            }
        }
    };
}

neon!(
    f32,
    float32x4_t,
    4,
    vdupq_n_f32,
    vld1q_f32,
    vst1q_f32,
    vaddq_f32,
    vmulq_f32,
    vfmaq_f32,
    vrev64q_f32,
    same,
    same,
    vreinterpretq_f64_f32,
    vreinterpretq_f32_f64,
    vtrn1q_f32,
    vtrn2q_f32,
    vaddvq_f32
);
neon!(
    f64,
    float64x2_t,
    2,
    vdupq_n_f64,
    vld1q_f64,
    vst1q_f64,
    vaddq_f64,
    vmulq_f64,
    vfmaq_f64,
    |a| vextq_f64::<1>(a, a),
    vreinterpretq_f32_f64,
    vreinterpretq_f64_f32,
    same,
    same,
    vtrn1q_f64,
    vtrn2q_f64,
    vaddvq_f64
);
