//! Vectors with AVX-512: 16 lanes of `f32` or 8 of `f64`.

use std::arch::x86_64::*;

use super::{Simd, inlined, same};

#[derive(Clone, Copy)]
pub(in super::super) struct Avx512;

/// # Safety
/// The processor must support AVX-512.
#[inline(always)]
unsafe fn odd_pd(a: __m512d) -> __m512d {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm512_permute_pd::<0b1111_1111>(a) }
}

macro_rules! avx512 {
    ($real:ty, $vector:ty, $lanes:literal, $mask:ty, $zero:ident, $splat:ident, $load:ident, $store:ident,
     $load_masked:ident, $store_masked:ident, $add:ident, $sub:ident, $mul:ident, $mul_add:ident,
     $swap:ident, $pattern:literal, $add_masked:ident, $odd:literal, $stream:ident, $to_ps:ident, $from_ps:ident, $to_pd:ident, $from_pd:ident,
     $even:ident, $dup_odd:ident, $sum:ident) => {
        impl Simd<$real> for Avx512 {
            type Vector = $vector;

            const LANES: usize = $lanes;

            inlined! {
                zero() -> $vector = $zero();
                splat(value: $real) -> $vector = $splat(value);
                load(from: *const $real) -> $vector = $load(from);
                store(to: *mut $real, vector: $vector) = $store(to, vector);
                load_first(from: *const $real, count: usize) -> $vector =
                    $load_masked(((1u32 << count) - 1) as $mask, from);
                store_first(to: *mut $real, vector: $vector, count: usize) =
                    $store_masked(to, ((1u32 << count) - 1) as $mask, vector);
                add(a: $vector, b: $vector) -> $vector = $add(a, b);
                mul(a: $vector, b: $vector) -> $vector = $mul(a, b);
                mul_add(a: $vector, b: $vector, c: $vector) -> $vector = $mul_add(a, b, c);
                swap_pairs(a: $vector) -> $vector = $swap::<$pattern>(a);
                dup_even(a: $vector) -> $vector = $even(a);
                dup_odd(a: $vector) -> $vector = $dup_odd(a);
                sum(a: $vector) -> $real = $sum(a);
                sub_add(a: $vector, b: $vector) -> $vector = $add_masked($sub(a, b), $odd, a, b);
                low_4(a: $vector, b: $vector) -> $vector = $from_ps(_mm512_unpacklo_ps($to_ps(a), $to_ps(b)));
                high_4(a: $vector, b: $vector) -> $vector = $from_ps(_mm512_unpackhi_ps($to_ps(a), $to_ps(b)));
                low_8(a: $vector, b: $vector) -> $vector = $from_pd(_mm512_unpacklo_pd($to_pd(a), $to_pd(b)));
                high_8(a: $vector, b: $vector) -> $vector = $from_pd(_mm512_unpackhi_pd($to_pd(a), $to_pd(b)));
                stream(to: *mut $real, vector: $vector) = $stream(to.cast(), vector);
                pick_words(a: $vector, b: $vector, indices: &[u32; 16]) -> $vector = $from_ps(_mm512_permutex2var_ps(
                    $to_ps(a), _mm512_loadu_si512(indices.as_ptr().cast()), $to_ps(b)));
                pick_within(a: $vector, indices: &[u32; 16]) -> $vector = $from_ps(_mm512_permutexvar_ps(
                    _mm512_loadu_si512(indices.as_ptr().cast()), $to_ps(a)));
            }

            #[inline(always)]
            unsafe fn load_pieces(from: [*const $real; 4]) -> $vector {
                // SAFETY: the processor supports the instructions, and the caller guarantees that 16 bytes can be read
                // at each of the four addresses.
                unsafe {
                    let all = _mm512_castps128_ps512(_mm_loadu_ps(from[0].cast()));
                    let all = _mm512_insertf32x4::<1>(all, _mm_loadu_ps(from[1].cast()));
                    let all = _mm512_insertf32x4::<2>(all, _mm_loadu_ps(from[2].cast()));
                    $from_ps(_mm512_insertf32x4::<3>(all, _mm_loadu_ps(from[3].cast())))
                }
            }

            #[inline(always)]
            unsafe fn store_pieces(to: [*mut $real; 4], vector: $vector) {
                // SAFETY: as above, except that the 16 bytes can be written.
                unsafe {
                    _mm_storeu_ps(to[0].cast(), _mm512_castps512_ps128($to_ps(vector)));
                    _mm_storeu_ps(to[1].cast(), _mm512_extractf32x4_ps::<1>($to_ps(vector)));
                    _mm_storeu_ps(to[2].cast(), _mm512_extractf32x4_ps::<2>($to_ps(vector)));
                    _mm_storeu_ps(to[3].cast(), _mm512_extractf32x4_ps::<3>($to_ps(vector)));
                }
            }

            #[inline(always)]
            unsafe fn exchange(vectors: [$vector; 4]) -> [$vector; 4] {
                // SAFETY: as above.
                unsafe {
                    let [a, b, c, d] = vectors;
                    let (a, b, c, d) = ($to_ps(a), $to_ps(b), $to_ps(c), $to_ps(d));
                    let (ab, cd) =
                        (_mm512_shuffle_f32x4::<0b01_00_01_00>(a, b), _mm512_shuffle_f32x4::<0b01_00_01_00>(c, d));
                    let (first, second) =
                        (_mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd), _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd));
                    let (ab, cd) =
                        (_mm512_shuffle_f32x4::<0b11_10_11_10>(a, b), _mm512_shuffle_f32x4::<0b11_10_11_10>(c, d));
                    let (third, fourth) =
                        (_mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd), _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd));
                    [$from_ps(first), $from_ps(second), $from_ps(third), $from_ps(fourth)]
                }
            }
        }
    };
}

avx512!(
    f32,
    __m512,
    16,
    __mmask16,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_mask_storeu_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps,
    _mm512_permute_ps,
    0b10_11_00_01,
    _mm512_mask_add_ps,
    0xaaaa,
    _mm512_stream_ps,
    same,
    same,
    _mm512_castps_pd,
    _mm512_castpd_ps,
    _mm512_moveldup_ps,
    _mm512_movehdup_ps,
    _mm512_reduce_add_ps
);
avx512!(
    f64,
    __m512d,
    8,
    __mmask8,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_mask_storeu_pd,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd,
    _mm512_permute_pd,
    0b0101_0101,
    _mm512_mask_add_pd,
    0xaa,
    _mm512_stream_pd,
    _mm512_castpd_ps,
    _mm512_castps_pd,
    same,
    same,
    _mm512_movedup_pd,
    odd_pd,
    _mm512_reduce_add_pd
);
