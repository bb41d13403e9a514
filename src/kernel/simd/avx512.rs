//! AVX-512: 16 lanes of f32, 8 of f64, and a mask for every load and store.

use std::arch::x86_64::*;

use super::Simd;

#[derive(Clone, Copy)]
pub(in super::super) struct Avx512;

macro_rules! avx512 {
    ($real:ty, $vector:ty, $lanes:literal, $mask:ty, $zero:ident, $splat:ident, $load:ident, $store:ident,
     $load_masked:ident, $store_masked:ident, $add:ident, $sub:ident, $mul:ident, $mul_add:ident,
     $swap:ident, $pattern:literal, $add_masked:ident, $odd:literal) => {
        impl Simd<$real> for Avx512 {
            type Vector = $vector;

            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> $vector {
                // SAFETY: the trait's promise: the instructions exist.
                unsafe { $zero() }
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
                // SAFETY: as above; masked lanes are not touched.
                unsafe { $load_masked(((1u32 << count) - 1) as $mask, from) }
            }

            #[inline(always)]
            unsafe fn store_first(to: *mut $real, vector: $vector, count: usize) {
                // SAFETY: as above; masked lanes are not touched.
                unsafe { $store_masked(to, ((1u32 << count) - 1) as $mask, vector) }
            }

            #[inline(always)]
            unsafe fn add(a: $vector, b: $vector) -> $vector {
                // SAFETY: the instructions exist.
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
                unsafe { $mul_add(a, b, c) }
            }

            #[inline(always)]
            unsafe fn swap_pairs(a: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $swap::<$pattern>(a) }
            }

            #[inline(always)]
            unsafe fn sub_add(a: $vector, b: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $add_masked($sub(a, b), $odd, a, b) }
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
    0xaaaa
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
    0xaa
);
