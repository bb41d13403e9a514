//! Vectors with NEON, which every AArch64 target has: 4 lanes of `f32` or 2 of `f64`.

use std::arch::aarch64::*;

use super::{Simd, inlined};

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

            inlined! {
                zero() -> $vector = $splat(0.0);
                splat(value: $real) -> $vector = $splat(value);
                load(from: *const $real) -> $vector = $load(from);
                store(to: *mut $real, vector: $vector) = $store(to, vector);
                add(a: $vector, b: $vector) -> $vector = $add(a, b);
                mul(a: $vector, b: $vector) -> $vector = $mul(a, b);
                mul_add(a: $vector, b: $vector, c: $vector) -> $vector = $mul_add(c, a, b);
                swap_pairs(a: $vector) -> $vector = $swap(a);
                dup_even(a: $vector) -> $vector = $even(a, a);
                dup_odd(a: $vector) -> $vector = $odd(a, a);
                sum(a: $vector) -> $real = $sum(a);
                load_pieces(from: [*const $real; 4]) -> $vector = $load(from[0]);
                store_pieces(to: [*mut $real; 4], vector: $vector) = $store(to[0], vector);
                low_4(a: $vector, b: $vector) -> $vector = $from_f32(vzip1q_f32($to_f32(a), $to_f32(b)));
                high_4(a: $vector, b: $vector) -> $vector = $from_f32(vzip2q_f32($to_f32(a), $to_f32(b)));
                low_8(a: $vector, b: $vector) -> $vector = $from_f64(vzip1q_f64($to_f64(a), $to_f64(b)));
                high_8(a: $vector, b: $vector) -> $vector = $from_f64(vzip2q_f64($to_f64(a), $to_f64(b)));
                stream(to: *mut $real, vector: $vector) = $store(to, vector);
            }

            #[inline(always)]
            unsafe fn pick_words(a: $vector, b: $vector, indices: &[u32; 16]) -> $vector {
                // SAFETY: the table has 16 indices.
                unsafe {
                    let first = vmulq_n_u32(vld1q_u32(indices.as_ptr()), 0x0404_0404);
                    let bytes = vreinterpretq_u8_u32(vaddq_u32(first, vdupq_n_u32(0x0302_0100)));
                    let [a, b] = [a, b].map(|vector| vreinterpretq_u8_f32($to_f32(vector)));
                    $from_f32(vreinterpretq_f32_u8(vqtbl2q_u8(uint8x16x2_t(a, b), bytes)))
                }
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
            unsafe fn sub_add(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above; the array has one element per lane.
                unsafe {
                    let signs: [$real; $lanes] = std::array::from_fn(|lane| if lane % 2 == 0 { -1.0 } else { 1.0 });
                    $mul_add(a, b, $load(signs.as_ptr()))
                }
            }

            #[inline(always)]
            unsafe fn exchange(vectors: [$vector; 4]) -> [$vector; 4] {
                vectors
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
