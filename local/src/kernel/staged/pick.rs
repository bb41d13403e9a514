//! Transposes rows of few adjacent elements in registers: vectors of adjacent rows become one vector for each column,
//! or the reverse.
//!
//! The number of columns is `ODD << LEVELS` (`docs/kernels.md`). An element is `P` words of 4 bytes.

use super::super::simd::{Indices, Simd, half, prefetch};
use crate::local_plan::MAX_PICKED;

/// The prefetch distance in words. With 4 KiB, a processor of family 25 took up to twice as long.
const AHEAD: usize = 64;
const MAX_ODD: usize = 9;

/// The lower (0), or the upper (1), half of two interleaved vectors.
const fn interleaved(words: usize, p: usize, upper: usize) -> Indices {
    let (mut indices, mut word) = ([0; 16], 0);
    while word < words {
        let element = upper * (words / p) + word / p;
        indices[word] = (element % 2 * words + element / 2 * p + word % p) as u32;
        word += 1;
    }
    indices
}

/// For each column (or vector of rows if `joins`), and each source but the first, the indices of words in the result so
/// far or, from `words` on, in the source.
pub(super) const fn steps(words: usize, odd: usize, p: usize, joins: bool) -> [[Indices; MAX_ODD]; MAX_ODD] {
    let (mut all, mut result) = ([[[0; 16]; MAX_ODD]; MAX_ODD], 0);
    while result < odd {
        let mut word = 0;
        while word < words {
            let (source, at) = if joins {
                let element = (result * words + word) / p;
                (element % odd, element / odd * p + word % p)
            } else {
                let all = (word / p * odd + result) * p + word % p;
                (all / words, all % words)
            };
            let mut step = 1;
            while step < odd {
                all[result][step][word] = if source == step {
                    words + at
                } else if step == 1 && source == 0 {
                    at
                } else {
                    word
                } as u32;
                step += 1;
            }
            word += 1;
        }
        result += 1;
    }
    all
}

/// Levels order columns by their last bits first.
const fn order(levels: usize, odd: usize, position: usize) -> usize {
    let (mut column, mut left, mut size, mut level) = (0, position, odd << levels, 0);
    while level < levels {
        size /= 2;
        column += (left / size) << level;
        left %= size;
        level += 1;
    }
    column + (left << levels)
}

/// Splits whole vectors of rows into columns, `lead` words apart. Returns the number of rows.
///
/// # Safety
/// The processor must support the instruction set `S`. The rows must be readable, and the columns writable.
#[inline(always)]
pub(super) unsafe fn split<S: Simd<f32>, const LEVELS: usize, const ODD: usize, const P: usize>(
    from: *const f32,
    to: *mut f32,
    lead: isize,
    rows: usize,
) -> usize {
    let (count, side) = (const { ODD << LEVELS }, S::LANES / P);
    let whole = rows / side;
    for block in 0..whole {
        let (from, to) = (from.wrapping_add(block * count * S::LANES), to.wrapping_add(block * S::LANES));
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut vectors = [S::zero(); MAX_PICKED];
            for (i, vector) in vectors.iter_mut().enumerate().take(count) {
                let from = from.wrapping_add(i * S::LANES);
                prefetch(from.wrapping_add(AHEAD));
                *vector = S::load(from);
            }
            for level in 0..LEVELS {
                vectors = halve::<S, P>(vectors, count, count >> level);
            }
            vectors = pick::<S, ODD, P, false>(vectors, count);
            for (position, &vector) in vectors.iter().enumerate().take(count) {
                S::store(to.wrapping_offset(order(LEVELS, ODD, position) as isize * lead), vector);
            }
        }
    }
    whole * side
}

/// The reverse of [`split`].
///
/// # Safety
/// Same as for [`split`].
#[inline(always)]
pub(super) unsafe fn join<S: Simd<f32>, const LEVELS: usize, const ODD: usize, const P: usize>(
    from: *const f32,
    to: *mut f32,
    lead: isize,
    rows: usize,
) -> usize {
    let (count, side) = (const { ODD << LEVELS }, S::LANES / P);
    let whole = rows / side;
    for block in 0..whole {
        let (from, to) = (from.wrapping_add(block * S::LANES), to.wrapping_add(block * count * S::LANES));
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut vectors = [S::zero(); MAX_PICKED];
            for (position, vector) in vectors.iter_mut().enumerate().take(count) {
                *vector = S::load(from.wrapping_offset(order(LEVELS, ODD, position) as isize * lead));
            }
            vectors = pick::<S, ODD, P, true>(vectors, count);
            for level in (0..LEVELS).rev() {
                vectors = pair::<S, P>(vectors, count, count >> level);
            }
            for (i, &vector) in vectors.iter().enumerate().take(count) {
                S::store(to.wrapping_add(i * S::LANES), vector);
            }
        }
    }
    whole * side
}

/// Splits each group of `size` vectors into its even and its odd elements.
///
/// # Safety
/// The processor must support the instruction set `S`.
#[inline(always)]
unsafe fn halve<S: Simd<f32>, const P: usize>(
    vectors: [S::Vector; MAX_PICKED],
    count: usize,
    size: usize,
) -> [S::Vector; MAX_PICKED] {
    let [even, odd] = const { &[half(S::LANES, P, 0), half(S::LANES, P, 1)] };
    let mut halves = vectors;
    for pair in 0..count / 2 {
        let (group, i) = (pair / (size / 2) * size, pair % (size / 2));
        let (a, b) = (vectors[2 * pair], vectors[2 * pair + 1]);
        // SAFETY: guaranteed by the caller.
        unsafe {
            halves[group + i] = S::pick_words(a, b, even);
            halves[group + size / 2 + i] = S::pick_words(a, b, odd);
        }
    }
    halves
}

/// The reverse of [`halve`].
///
/// # Safety
/// The processor must support the instruction set `S`.
#[inline(always)]
unsafe fn pair<S: Simd<f32>, const P: usize>(
    vectors: [S::Vector; MAX_PICKED],
    count: usize,
    size: usize,
) -> [S::Vector; MAX_PICKED] {
    let [lower, upper] = const { &[interleaved(S::LANES, P, 0), interleaved(S::LANES, P, 1)] };
    let mut pairs = vectors;
    for pair in 0..count / 2 {
        let (group, i) = (pair / (size / 2) * size, pair % (size / 2));
        let (a, b) = (vectors[group + i], vectors[group + size / 2 + i]);
        // SAFETY: guaranteed by the caller.
        unsafe {
            pairs[2 * pair] = S::pick_words(a, b, lower);
            pairs[2 * pair + 1] = S::pick_words(a, b, upper);
        }
    }
    pairs
}

/// Splits each group of `ODD` vectors into columns, or joins columns.
///
/// # Safety
/// The processor must support the instruction set `S`.
#[inline(always)]
unsafe fn pick<S: Simd<f32>, const ODD: usize, const P: usize, const JOINS: bool>(
    vectors: [S::Vector; MAX_PICKED],
    count: usize,
) -> [S::Vector; MAX_PICKED] {
    if ODD == 1 {
        return vectors;
    }
    let table = const { &steps(S::LANES, ODD, P, JOINS) };
    let mut picked = vectors;
    for group in (0..count).step_by(ODD) {
        for result in 0..ODD {
            let mut words = vectors[group];
            for step in 1..ODD {
                // SAFETY: guaranteed by the caller.
                words = unsafe { S::pick_words(words, vectors[group + step], &table[result][step]) };
            }
            picked[group + result] = words;
        }
    }
    picked
}
