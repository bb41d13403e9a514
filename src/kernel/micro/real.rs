//! The micro-kernel of real types: a tile of out, a few vectors tall and a few columns wide, stays in registers while
//! one row of right and one column of left after the other are multiplied into it.

use super::super::simd::{Real, Simd};
use super::{Call, prefetch};

/// `V` vectors by `N` columns. `PACKED`: one step of the sum finds its `N` values of right side by side.
///
/// # Safety
/// As [`Call`] says; the instructions of `S` exist.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd<R>, R: Real, const V: usize, const N: usize, const PACKED: bool>(call: &Call<R>) {
    // SAFETY: all reads and writes are those that `Call` promises.
    unsafe {
        let mut sums = [[S::zero(); V]; N];
        let (mut left, mut right) = (call.left, call.right);
        let column = if PACKED { 1 } else { call.right_column };
        let last = call.rows - (V - 1) * S::LANES;
        let whole = last == S::LANES;
        prefetch::<R, V, N>(call, S::LANES, 1);
        let mut rest = call.depth;
        let readable = if call.left_padded { S::LANES } else { last };
        if readable == S::LANES {
            for _ in 0..call.depth / 2 {
                step::<S, R, V, N>(&mut sums, left, S::LANES, right, column);
                (left, right) = (left.offset(call.left_step), right.offset(call.right_step));
                step::<S, R, V, N>(&mut sums, left, S::LANES, right, column);
                (left, right) = (left.wrapping_offset(call.left_step), right.wrapping_offset(call.right_step));
            }
            rest %= 2;
        }
        for _ in 0..rest {
            step::<S, R, V, N>(&mut sums, left, readable, right, column);
            (left, right) = (left.wrapping_offset(call.left_step), right.wrapping_offset(call.right_step));
        }
        let alpha = S::splat(call.alpha[0]);
        let beta = S::splat(call.beta[0]);
        let reads = call.beta[0] != R::ZERO;
        for (n, sums) in sums.iter().enumerate() {
            let to = call.out.offset(*call.columns.add(n));
            for (v, &sum) in sums.iter().enumerate() {
                let to = to.add(v * S::LANES);
                let value = S::mul(sum, alpha);
                if v < V - 1 || whole {
                    S::store(to, if reads { S::mul_add(S::load(to), beta, value) } else { value });
                } else {
                    let value = if reads { S::mul_add(S::load_first(to, last), beta, value) } else { value };
                    S::store_first(to, value, last);
                }
            }
        }
    }
}

/// One term of every sum. `last`: how many rows the last vector has.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
unsafe fn step<S: Simd<R>, R: Real, const V: usize, const N: usize>(
    sums: &mut [[S::Vector; V]; N],
    left: *const R,
    last: usize,
    right: *const R,
    column: isize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut rows = [S::zero(); V];
        for v in 0..V {
            let from = left.add(v * S::LANES);
            rows[v] = if v == V - 1 && last != S::LANES { S::load_first(from, last) } else { S::load(from) };
        }
        for n in 0..N {
            let value = S::splat(*right.offset(n as isize * column));
            for v in 0..V {
                sums[n][v] = S::mul_add(rows[v], value, sums[n][v]);
            }
        }
    }
}
