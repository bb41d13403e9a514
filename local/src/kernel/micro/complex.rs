//! The micro-kernel for complex types, with interleaved parts (`docs/kernels.md`). Conjugation changes only how the two
//! sums are combined.

use super::super::simd::{Real, Simd};
use super::{Call, advanced, columns};
use crate::local_plan::TileOffsets;

pub(super) const PARTS: usize = 2;

/// The sums with the real parts, then the imaginary parts, of one column of `right`.
pub(super) type ColumnSums<Vector, const V: usize> = [[Vector; V]; 2];

/// Computes a tile of `V` vectors by `N` columns. `PACKED`: the `N` elements of `right` are contiguous at each step.
///
/// # Safety
/// Same as for [`Call`], and the processor must support the instruction set `S`.
#[expect(clippy::needless_range_loop, reason = "loops over constants, which become straight code")]
#[inline(always)]
pub(super) unsafe fn tile<S: Simd<R>, R: Real, const V: usize, const N: usize, const PACKED: bool>(
    call: &Call<R>,
    tile_offset: &TileOffsets,
    at: usize,
) {
    // SAFETY: all reads and writes are those that `Call` allows.
    unsafe {
        let column = if PACKED { 2 } else { call.right_column };
        let mut left = call.left_of(tile_offset, at);
        let mut right = columns(call.right_of(tile_offset), column);
        let last = call.rows - (V - 1) * S::LANES;
        let last_read = if call.left_padded { S::LANES } else { last };
        let mut sums = [[[S::zero(); V]; 2]; N];
        for _ in 0..call.depth {
            let mut rows = [S::zero(); V];
            for v in 0..V {
                let from = left.add(v * S::LANES);
                rows[v] = if v == V - 1 && last_read != S::LANES { S::load_first(from, last) } else { S::load(from) };
            }
            for n in 0..N {
                let from = right[n / 3].offset((n % 3) as isize * column);
                let (re, im) = (S::splat(*from), S::splat(*from.add(1)));
                for v in 0..V {
                    sums[n][0][v] = S::mul_add(rows[v], re, sums[n][0][v]);
                    sums[n][1][v] = S::mul_add(rows[v], im, sums[n][1][v]);
                }
            }
            left = left.wrapping_offset(call.left_step);
            right = advanced(right, call.right_step);
        }
        for n in 0..N {
            put::<S, R, V>(call, tile_offset, n, &sums[n]);
        }
    }
}

/// # Safety
/// Same as for [`tile`].
#[expect(clippy::needless_range_loop, reason = "loops over constants, which become straight code")]
#[inline(always)]
pub(super) unsafe fn put<S: Simd<R>, R: Real, const V: usize>(
    call: &Call<R>,
    tile_offset: &TileOffsets,
    n: usize,
    sums: &ColumnSums<S::Vector, V>,
) {
    let last = call.rows - (V - 1) * S::LANES;
    let whole = last == S::LANES;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let to = call.out.wrapping_offset(tile_offset.out).offset(2 * *call.columns.add(n));
        let (alpha, beta) = (Scale::<S::Vector>::new::<S, R>(call.alpha), Scale::<S::Vector>::new::<S, R>(call.beta));
        let scales = call.alpha != [R::ONE, R::ZERO];
        let reads = call.beta != [R::ZERO; 2];
        // The usual case has fewer branches.
        if !scales && !reads {
            for v in 0..V {
                let to = to.offset(tile_offset.vectors[v]);
                let sum = combined::<S, R>(sums[0][v], sums[1][v], call.conjugated);
                if call.streams {
                    S::stream(to, sum);
                } else if v < V - 1 || whole {
                    S::store(to, sum);
                } else {
                    S::store_first(to, sum, last);
                }
            }
            return;
        }
        for v in 0..V {
            let to = to.offset(tile_offset.vectors[v]);
            let sum = combined::<S, R>(sums[0][v], sums[1][v], call.conjugated);
            let value = if scales { alpha.times::<S, R>(sum) } else { sum };
            if call.streams {
                S::stream(to, value);
            } else if v < V - 1 || whole {
                S::store(to, if reads { S::add(beta.times::<S, R>(S::load(to)), value) } else { value });
            } else {
                let value = if reads { S::add(beta.times::<S, R>(S::load_first(to, last)), value) } else { value };
                S::store_first(to, value, last);
            }
        }
    }
}

/// Combines both sums.
///
/// Conjugating `right` negates the second sum. Conjugating `left` does too, and conjugates the result: `conj(l) r` is
/// the conjugate of `l conj(r)`.
///
/// # Safety
/// The processor must support the instruction set `S`.
#[inline(always)]
pub(in super::super) unsafe fn combined<S: Simd<R>, R: Real>(
    with_re: S::Vector,
    with_im: S::Vector,
    [left, right]: [bool; 2],
) -> S::Vector {
    // SAFETY: guaranteed by the caller.
    unsafe {
        // 1 for real parts, -1 for imaginary parts.
        let conjugates = S::sub_add(S::zero(), S::splat(R::ZERO - R::ONE));
        let crossed = S::swap_pairs(with_im);
        match (left, right) {
            (false, false) => S::sub_add(with_re, crossed),
            (false, true) => S::mul_add(crossed, conjugates, with_re),
            (true, false) => S::mul_add(with_re, conjugates, crossed),
            (true, true) => S::mul(S::sub_add(with_re, crossed), conjugates),
        }
    }
}

#[derive(Clone, Copy)]
struct Scale<Vector> {
    re: Vector,
    im: Vector,
    /// Whether `im` is 0; parts are then scaled separately, so that an infinite one does not make the other NaN.
    real: bool,
}

impl<Vector: Copy> Scale<Vector> {
    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    unsafe fn new<S: Simd<R, Vector = Vector>, R: Real>([re, im]: [R; 2]) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Scale { re: S::splat(re), im: S::splat(im), real: im == R::ZERO } }
    }

    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    unsafe fn times<S: Simd<R, Vector = Vector>, R: Real>(self, a: Vector) -> Vector {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let by_real = S::mul(a, self.re);
            if self.real { by_real } else { S::sub_add(by_real, S::mul(S::swap_pairs(a), self.im)) }
        }
    }
}
