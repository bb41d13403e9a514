//! Slicing runs the same steps for each piece (range of indices) of some dimensions, to save memory (`docs/trees.md`).
//!
//! Invariants: pieces of a dimension have equal lengths, so one schedule suits all slices. No tensor is distributed
//! along a sliced dimension, so the slice of a rank's block is its block of the slice. Loops over summed dimensions are
//! innermost. Values that are the same in all slices are computed once if memory suffices and the result is whole.

use super::structure::Slice;

/// A run with more slices would never finish.
pub const MAX_SLICES: f64 = 1e12;

/// As a float, because it may exceed every integer type.
pub fn slice_count(slices: &[Slice]) -> f64 {
    slices.iter().map(|slice| slice.pieces() as f64).product()
}

const MAX_FACTOR: usize = 1 << 20;

/// Ascending divisors. Above 2^40, the factor without prime factors up to 2^20 counts as a prime. Cost: at most about
/// 2^20 divisions.
pub fn divisors(number: usize) -> Vec<usize> {
    if number == 0 {
        return Vec::new();
    }
    let mut all = vec![1];
    let (mut rest, mut factor) = (number, 2);
    while rest > 1 {
        if factor > MAX_FACTOR || factor > rest / factor {
            factor = rest;
        }
        let known = all.len();
        while rest.is_multiple_of(factor) {
            rest /= factor;
            let more: Vec<usize> = all[all.len() - known..].iter().map(|divisor| divisor * factor).collect();
            all.extend(more);
        }
        factor += 1;
    }
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests;
