//! Vectors with AVX2 and FMA: 8 lanes of `f32` or 4 of `f64`.

use std::arch::x86_64::*;

use super::{Simd, inlined, same};

#[derive(Clone, Copy)]
pub(in super::super) struct Avx2;

/// Index 8 - n starts a mask for the first n of 8 lanes.
static MASKS_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
/// Index 4 - n starts a mask for the first n of 4 lanes.
static MASKS_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// Stores 8, 4, 2 and 1 elements, because processors such as AMD Zen emulate masked stores slowly.
///
/// # Safety
/// The processor must support AVX2. `count` must be at most 8, and `count` elements must be writable.
#[inline(always)]
unsafe fn store_first_ps(to: *mut f32, vector: __m256, count: usize) {
    // SAFETY: guaranteed by the caller; only the first `count` elements are stored.
    unsafe {
        if count == 8 {
            return _mm256_storeu_ps(to, vector);
        }
        let (mut to, mut rest) = (to, _mm256_castps256_ps128(vector));
        if count & 4 != 0 {
            _mm_storeu_ps(to, rest);
            (to, rest) = (to.add(4), _mm256_extractf128_ps::<1>(vector));
        }
        if count & 2 != 0 {
            // This store needs no alignment, despite its pointer type.
            _mm_storel_epi64(to.cast(), _mm_castps_si128(rest));
            (to, rest) = (to.add(2), _mm_movehl_ps(rest, rest));
        }
        if count & 1 != 0 {
            _mm_store_ss(to, rest);
        }
    }
}

/// # Safety
/// The processor must support AVX2. `count` must be at most 4, and `count` elements must be writable.
#[inline(always)]
unsafe fn store_first_pd(to: *mut f64, vector: __m256d, count: usize) {
    // SAFETY: guaranteed by the caller; an `f64` is stored as two `f32`.
    unsafe { store_first_ps(to.cast(), _mm256_castpd_ps(vector), 2 * count) }
}

/// # Safety
/// The processor must support AVX2.
#[inline(always)]
unsafe fn odd_pd(a: __m256d) -> __m256d {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm256_permute_pd::<0b1111>(a) }
}

/// # Safety
/// The processor must support AVX2.
#[inline(always)]
unsafe fn sum_ps(a: __m256) -> f32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
    }
}

/// # Safety
/// The processor must support AVX2.
#[inline(always)]
unsafe fn sum_pd(a: __m256d) -> f64 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd::<1>(a));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }
}

macro_rules! avx2 {
    ($real:ty, $vector:ty, $lanes:literal, $masks:ident, $zero:ident, $splat:ident, $load:ident, $store:ident,
     $load_masked:ident, $store_first:ident, $add:ident, $mul:ident, $mul_add:ident,
     $swap:ident, $pattern:literal, $sub_add:ident, $stream:ident, $to_ps:ident, $from_ps:ident, $to_pd:ident, $from_pd:ident,
     $even:ident, $dup_odd:ident, $sum:ident) => {
        impl Simd<$real> for Avx2 {
            type Vector = $vector;

            const LANES: usize = $lanes;

            inlined! {
                zero() -> $vector = $zero();
                splat(value: $real) -> $vector = $splat(value);
                load(from: *const $real) -> $vector = $load(from);
                store(to: *mut $real, vector: $vector) = $store(to, vector);
                store_first(to: *mut $real, vector: $vector, count: usize) = $store_first(to, vector, count);
                add(a: $vector, b: $vector) -> $vector = $add(a, b);
                mul(a: $vector, b: $vector) -> $vector = $mul(a, b);
                mul_add(a: $vector, b: $vector, c: $vector) -> $vector = $mul_add(a, b, c);
                swap_pairs(a: $vector) -> $vector = $swap::<$pattern>(a);
                dup_even(a: $vector) -> $vector = $even(a);
                dup_odd(a: $vector) -> $vector = $dup_odd(a);
                sum(a: $vector) -> $real = $sum(a);
                sub_add(a: $vector, b: $vector) -> $vector = $sub_add(a, b);
                low_4(a: $vector, b: $vector) -> $vector = $from_ps(_mm256_unpacklo_ps($to_ps(a), $to_ps(b)));
                high_4(a: $vector, b: $vector) -> $vector = $from_ps(_mm256_unpackhi_ps($to_ps(a), $to_ps(b)));
                low_8(a: $vector, b: $vector) -> $vector = $from_pd(_mm256_unpacklo_pd($to_pd(a), $to_pd(b)));
                high_8(a: $vector, b: $vector) -> $vector = $from_pd(_mm256_unpackhi_pd($to_pd(a), $to_pd(b)));
                stream(to: *mut $real, vector: $vector) = $stream(to.cast(), vector);
            }

            #[inline(always)]
            unsafe fn load_first(from: *const $real, count: usize) -> $vector {
                // SAFETY: guaranteed by the caller; count is at most the number of lanes, so the mask is inside the
                // table, and other lanes are not accessed.
                unsafe { $load_masked(from, _mm256_loadu_si256($masks.as_ptr().add($lanes - count).cast())) }
            }

            #[inline(always)]
            unsafe fn load_pieces(from: [*const $real; 4]) -> $vector {
                // SAFETY: the processor supports the instructions, and the caller guarantees that 16 bytes can be read
                // at each of the first two addresses.
                unsafe {
                    let first = _mm256_castps128_ps256(_mm_loadu_ps(from[0].cast()));
                    $from_ps(_mm256_insertf128_ps::<1>(first, _mm_loadu_ps(from[1].cast())))
                }
            }

            #[inline(always)]
            unsafe fn store_pieces(to: [*mut $real; 4], vector: $vector) {
                // SAFETY: as above, except that the 16 bytes can be written.
                unsafe {
                    _mm_storeu_ps(to[0].cast(), _mm256_castps256_ps128($to_ps(vector)));
                    _mm_storeu_ps(to[1].cast(), _mm256_extractf128_ps::<1>($to_ps(vector)));
                }
            }

            #[inline(always)]
            unsafe fn pick_words(a: $vector, b: $vector, indices: &[u32; 16]) -> $vector {
                // SAFETY: the processor supports the instructions, and the table has 16 indices.
                unsafe {
                    let indices = _mm256_loadu_si256(indices.as_ptr().cast());
                    // The bit with value 8 becomes the sign, which selects `b`.
                    let from_b = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(indices));
                    let [a, b] = [a, b].map(|vector| _mm256_permutevar8x32_ps($to_ps(vector), indices));
                    $from_ps(_mm256_blendv_ps(a, b, from_b))
                }
            }

            #[inline(always)]
            unsafe fn pick_within(a: $vector, indices: &[u32; 16]) -> $vector {
                // SAFETY: as above.
                unsafe { $from_ps(_mm256_permutevar8x32_ps($to_ps(a), _mm256_loadu_si256(indices.as_ptr().cast()))) }
            }

            #[inline(always)]
            unsafe fn exchange(vectors: [$vector; 4]) -> [$vector; 4] {
                let [a, b, c, d] = vectors;
                // SAFETY: as above.
                unsafe {
                    let first = _mm256_permute2f128_ps::<0x20>($to_ps(a), $to_ps(b));
                    let second = _mm256_permute2f128_ps::<0x31>($to_ps(a), $to_ps(b));
                    [$from_ps(first), $from_ps(second), c, d]
                }
            }
        }
    };
}

avx2!(
    f32,
    __m256,
    8,
    MASKS_32,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_maskload_ps,
    store_first_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps,
    _mm256_permute_ps,
    0b10_11_00_01,
    _mm256_addsub_ps,
    _mm256_stream_ps,
    same,
    same,
    _mm256_castps_pd,
    _mm256_castpd_ps,
    _mm256_moveldup_ps,
    _mm256_movehdup_ps,
    sum_ps
);
avx2!(
    f64,
    __m256d,
    4,
    MASKS_64,
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_maskload_pd,
    store_first_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_fmadd_pd,
    _mm256_permute_pd,
    0b0101,
    _mm256_addsub_pd,
    _mm256_stream_pd,
    _mm256_castpd_ps,
    _mm256_castps_pd,
    same,
    same,
    _mm256_movedup_pd,
    odd_pd,
    sum_pd
);
