//! Generates random operands: element `i` (row-major position in the whole) of operand `o` depends only on `(s, o, i)`
//! for seed `s`, so any rank can fill any block.
//!
//! `docs/files.md` names the source and states the bits.

use crate::dtype::Dtype;
use rand_philox::philox4x32_10;
use rayon::prelude::*;
use std::ops::Range;

/// Waking a thread for fewer does not pay.
const PIECE_ELEMENTS: usize = 1 << 15;

/// The parts of an element in double precision; real types use the first.
pub fn value(seed: u64, operand: u32, index: u64) -> (f64, f64) {
    let w = words(seed, operand, index);
    (double(w[0], w[1]), double(w[2], w[3]))
}

/// Fills a dense C-order block, a large one on the current rayon pool.
///
/// # Panics
///
/// If the ranges are not inside the shape, or if `into` does not have exactly the size of the block.
pub fn fill_block(dtype: Dtype, seed: u64, operand: u32, shape: &[usize], ranges: &[Range<usize>], into: &mut [u8]) {
    assert_eq!(shape.len(), ranges.len(), "one range per dimension");
    assert!(ranges.iter().zip(shape).all(|(r, &n)| r.start <= r.end && r.end <= n), "the block lies inside the shape");
    let elements = if ranges.iter().any(Range::is_empty) { 0 } else { ranges.iter().map(Range::len).product() };
    assert_eq!(into.len(), elements * dtype.size(), "the memory is as large as the block");
    if elements <= PIECE_ELEMENTS {
        fill_piece(dtype, seed, operand, shape, ranges, 0, into);
    } else {
        into.par_chunks_mut(PIECE_ELEMENTS * dtype.size()).enumerate().for_each(|(piece, into)| {
            fill_piece(dtype, seed, operand, shape, ranges, piece * PIECE_ELEMENTS, into);
        });
    }
}

fn fill_piece(
    dtype: Dtype,
    seed: u64,
    operand: u32,
    shape: &[usize],
    ranges: &[Range<usize>],
    mut first: usize,
    mut into: &mut [u8],
) {
    let row = ranges.last().map_or(1, Range::len);
    while !into.is_empty() {
        let count = (row - first % row).min(into.len() / dtype.size());
        let (run, rest) = into.split_at_mut(count * dtype.size());
        fill_run(dtype, seed, operand, position(shape, ranges, first), run);
        into = rest;
        first += count;
    }
}

fn position(shape: &[usize], ranges: &[Range<usize>], mut local: usize) -> u64 {
    let (mut position, mut stride) = (0u64, 1u64);
    for (range, &extent) in ranges.iter().zip(shape).rev() {
        let coordinate = range.start + local % range.len();
        local /= range.len();
        // Wraps only beyond 2^64 elements, which no machine can store.
        position = position.wrapping_add(stride.wrapping_mul(coordinate as u64));
        stride = stride.wrapping_mul(extent as u64);
    }
    position
}

fn fill_run(dtype: Dtype, seed: u64, operand: u32, first: u64, run: &mut [u8]) {
    let w = |i: usize| words(seed, operand, first.wrapping_add(i as u64));
    match dtype {
        Dtype::Float32 => {
            for (i, [re]) in parts::<1, 4>(run).enumerate() {
                *re = single(w(i)[0]).to_le_bytes();
            }
        }
        Dtype::Float64 => {
            for (i, [re]) in parts::<1, 8>(run).enumerate() {
                let w = w(i);
                *re = double(w[0], w[1]).to_le_bytes();
            }
        }
        Dtype::Complex64 => {
            for (i, [re, im]) in parts::<2, 4>(run).enumerate() {
                let w = w(i);
                *re = single(w[0]).to_le_bytes();
                *im = single(w[2]).to_le_bytes();
            }
        }
        Dtype::Complex128 => {
            for (i, [re, im]) in parts::<2, 8>(run).enumerate() {
                let w = w(i);
                *re = double(w[0], w[1]).to_le_bytes();
                *im = double(w[2], w[3]).to_le_bytes();
            }
        }
    }
}

/// Elements of `PARTS` numbers of `BYTES` bytes.
fn parts<const PARTS: usize, const BYTES: usize>(run: &mut [u8]) -> impl Iterator<Item = &mut [[u8; BYTES]; PARTS]> {
    run.as_chunks_mut::<BYTES>().0.as_chunks_mut::<PARTS>().0.iter_mut()
}

fn words(seed: u64, operand: u32, index: u64) -> [u32; 4] {
    philox4x32_10([index as u32, (index >> 32) as u32, 0, operand], [seed as u32, (seed >> 32) as u32])
}

fn double(high: u32, low: u32) -> f64 {
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 11;
    bits as f64 / (1u64 << 52) as f64 - 1.0
}

fn single(word: u32) -> f32 {
    (word >> 8) as f32 / (1u32 << 23) as f32 - 1.0
}

#[cfg(test)]
mod tests;
