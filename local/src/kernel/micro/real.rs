//! The micro-kernel for real types. It adds outer products in registers.

use super::super::simd::{Real, Simd};
use super::{CACHE_LINE, Call, Columns, TileSums, advanced, columns, prefetch};
use crate::local_plan::TileOffsets;

/// Repeats a block for every column, because variable indices would keep the sums in memory.
macro_rules! each_column {
    ($n:ident in $count:ident, $body:block) => {
        each_column!($n $count $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($n:ident $count:ident $body:block $($column:literal)*) => {
        $(if const { $column < $count } {
            let $n = $column;
            $body
        })*
    };
}

pub(super) const PARTS: usize = 1;

pub(super) type ColumnSums<Vector, const V: usize> = [Vector; V];

/// Computes a tile of `V` vectors by `N` columns. `PACKED`: the `N` elements of `right` are contiguous at each step.
///
/// # Safety
/// Same as for [`Call`], and the processor must support the instruction set `S`.
#[inline(always)]
pub(super) unsafe fn tile<S: TileSums<R>, R: Real, const V: usize, const N: usize, const PACKED: bool>(
    call: &Call<R>,
    tile_offset: &TileOffsets,
    at: usize,
) {
    // SAFETY: all reads and writes are those that `Call` allows.
    unsafe {
        let column = if PACKED { 1 } else { call.right_column };
        let mut left = call.left_of(tile_offset, at);
        let mut right = columns(call.right_of(tile_offset), column);
        let mut next = call.next_of(tile_offset, at);
        let last = call.rows - (V - 1) * S::LANES;
        let readable = if call.left_padded { S::LANES } else { last };
        let ahead = call.ahead;
        let mut sums = [[S::zero(); V]; N];
        let mut rest = call.depth;
        // Unrolling without specialised code would only take build time.
        if const { !S::SPECIALISED } && readable == S::LANES {
            for _ in 0..call.depth / 2 {
                for _ in 0..2 {
                    prefetch(next);
                    next = next.wrapping_add(CACHE_LINE / size_of::<R>());
                }
                if ahead != 0 {
                    for v in 0..V {
                        prefetch(left.wrapping_offset(ahead).wrapping_add(v * S::LANES));
                        prefetch(left.wrapping_offset(ahead + call.left_step).wrapping_add(v * S::LANES));
                    }
                }
                step::<S, R, V, N>(&mut sums, left, S::LANES, &right, column);
                left = left.wrapping_offset(call.left_step);
                right = advanced(right, call.right_step);
                step::<S, R, V, N>(&mut sums, left, S::LANES, &right, column);
                left = left.wrapping_offset(call.left_step);
                right = advanced(right, call.right_step);
            }
            rest %= 2;
        }
        for _ in 0..rest {
            step::<S, R, V, N>(&mut sums, left, readable, &right, column);
            left = left.wrapping_offset(call.left_step);
            right = advanced(right, call.right_step);
        }
        each_column!(n in N, { put::<S, R, V>(call, tile_offset, n, &sums[n]) });
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
        let plain = call.alpha[0] == R::ONE;
        let reads = call.beta[0] != R::ZERO;
        let (alpha, beta) = (S::splat(call.alpha[0]), S::splat(call.beta[0]));
        let to = call.out.wrapping_offset(tile_offset.out).offset(*call.columns.add(n));
        for v in 0..V {
            let to = to.offset(tile_offset.vectors[v]);
            let value = if plain { sums[v] } else { S::mul(sums[v], alpha) };
            if call.streams {
                S::stream(to, value);
            } else if v < V - 1 || whole {
                S::store(to, if reads { S::mul_add(S::load(to), beta, value) } else { value });
            } else {
                let value = if reads { S::mul_add(S::load_first(to, last), beta, value) } else { value };
                S::store_first(to, value, last);
            }
        }
    }
}

/// Adds one term. `last` is the number of rows in the last vector.
///
/// # Safety
/// Same as for [`tile`].
#[expect(clippy::needless_range_loop, reason = "loops over constants, which become straight code")]
#[inline(always)]
unsafe fn step<S: Simd<R>, R: Real, const V: usize, const N: usize>(
    sums: &mut [ColumnSums<S::Vector, V>; N],
    left: *const R,
    last: usize,
    right: &Columns<R>,
    column: isize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut rows = [S::zero(); V];
        for v in 0..V {
            let from = left.add(v * S::LANES);
            rows[v] = if v == V - 1 && last != S::LANES { S::load_first(from, last) } else { S::load(from) };
        }
        each_column!(n in N, {
            let value = S::splat(*right[n / 3].offset((n % 3) as isize * column));
            for v in 0..V {
                sums[n][v] = S::mul_add(rows[v], value, sums[n][v]);
            }
        });
    }
}
