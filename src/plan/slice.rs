//! Slicing: the same steps run for one piece of some dimensions after the other, when the whole does not fit into
//! memory.
//!
//! ```text
//! ab,bc->ac with b in 3 pieces: out = a b0, b0 c      of a dimension of out, each slice writes its part;
//!                               out += a b1, b1 c     of a summed one, each but the first adds onto out
//!                               out += a b2, b2 c
//!
//! with a in 2 pieces as well:   out0 = a0 b0, b0 c ... out0 += a0 b2, b2 c     a part of out is finished
//!                               out1 = a1 b0, b0 c ... out1 += a1 b2, b2 c     before the next one begins
//! ```
//!
//! If the result is too large as well, a rank holds one part of it at a time ([`ResultResidency::InParts`]), and the
//! caller takes each part as soon as it is finished.
//!
//! Invariants: pieces of a dimension are equal, so that one schedule serves all slices; no tensor is distributed along
//! a sliced dimension, so that a slice of a block is the block of a slice; summed dimensions vary fastest; there are at
//! most [`MAX_SLICES`] slices, so that their count does not overflow. Values that are the same in all slices of a
//! whole result are computed once, if there is memory to keep them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Packing, Plan, Value};
use crate::dims::Label;
use crate::distribution::Bounds;

/// A sliced dimension: each slice has one piece of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The dimension.
    pub label: Label,
    /// Extent of the whole dimension, a multiple of the piece.
    pub extent: usize,
    /// Extent of the dimension in one slice.
    pub piece: usize,
}

/// Maximum number of slices; more would never finish.
pub(super) const MAX_SLICES: f64 = 1e12;

impl Slice {
    fn pieces(&self) -> usize {
        self.extent / self.piece
    }
}

/// The number of slices, which may exceed all integers.
pub(super) fn slice_count(slices: &[Slice]) -> f64 {
    slices.iter().map(|slice| slice.pieces() as f64).product()
}

/// How much of its block of the result a rank holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultResidency {
    /// The whole block, in all slices.
    Whole,
    /// The part that a slice writes.
    InParts,
}

impl Plan {
    /// How many times the schedule runs for one result.
    pub fn slice_count(&self) -> usize {
        self.slices.iter().map(Slice::pieces).fold(1, usize::saturating_mul)
    }

    /// The extent of a dimension over all slices.
    pub fn whole_extent(&self, label: Label) -> usize {
        let sliced = self.slices.iter().find(|slice| slice.label == label);
        sliced.map_or(self.extents[label.0 as usize], |slice| slice.extent)
    }

    /// The extents of all dimensions over all slices, by label.
    pub fn whole_extents(&self) -> impl Iterator<Item = usize> {
        (0..self.extents.len() as u32).map(|label| self.whole_extent(Label(label)))
    }

    /// The shape of a value over all slices.
    pub fn whole_shape(&self, value: &Value) -> Vec<usize> {
        self.whole_dims(value).collect()
    }

    /// As [`Plan::whole_shape`], without a list.
    pub fn whole_dims<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = usize> + Clone + 'a {
        value.labels.iter().map(|&label| self.whole_extent(label))
    }

    /// The shape of an operand.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn operand_shape(&self, index: usize) -> Vec<usize> {
        self.whole_shape(self.operand(index))
    }

    /// The shape of the result.
    pub fn output_shape(&self) -> Vec<usize> {
        self.whole_shape(self.output())
    }

    /// The start of a slice in each of these dimensions.
    pub fn slice_starts(&self, slice: usize, labels: &[Label]) -> Vec<usize> {
        let mut starts = vec![0; labels.len()];
        let mut rest = slice;
        for sliced in self.slices.iter().rev() {
            for (start, _) in starts.iter_mut().zip(labels).filter(|(_, label)| **label == sliced.label) {
                *start = rest % sliced.pieces() * sliced.piece;
            }
            rest /= sliced.pieces();
        }
        starts
    }

    /// Number of parts in which the result is delivered; 1 if it is held whole.
    pub fn part_count(&self) -> usize {
        match self.result {
            ResultResidency::Whole => 1,
            ResultResidency::InParts => self.slice_count() / self.slices_of_one_element(),
        }
    }

    /// The slices that produce a part of the result.
    pub fn slices_of_part(&self, part: usize) -> Range<usize> {
        let each = self.slice_count() / self.part_count();
        part * each..(part + 1) * each
    }

    /// The box of the result that a part covers.
    pub fn part_bounds(&self, part: usize) -> Bounds {
        let starts = self.slice_starts(self.slices_of_part(part).start, &self.output().labels);
        starts.into_iter().zip(self.part_shape()).map(|(start, extent)| start..start + extent).collect()
    }

    /// The shape of each part of the result.
    pub fn part_shape(&self) -> Vec<usize> {
        match self.result {
            ResultResidency::Whole => self.output_shape(),
            ResultResidency::InParts => self.output().shape.clone(),
        }
    }

    /// Whether a slice is the first to write its part of the output.
    pub fn begins(&self, slice: usize) -> bool {
        slice.is_multiple_of(self.slices_of_one_element())
    }

    /// Number of slices that add up to an element of the result. They are consecutive.
    fn slices_of_one_element(&self) -> usize {
        let output = &self.output().labels;
        let summed = self.slices.iter().filter(|slice| !output.contains(&slice.label));
        summed.map(Slice::pieces).fold(1, usize::saturating_mul)
    }

    /// Bytes of a rank's blocks of operands and output outside the current slice, which schedules do not count.
    pub fn bytes_outside(&self, rank: usize, output: ResultResidency) -> u64 {
        let beyond = |value: &Value| {
            self.block_bytes(value, rank, &self.whole_shape(value)) - self.block_bytes(value, rank, &value.shape)
        };
        if self.slices.is_empty() { 0 } else { self.users(rank, output).map(beyond).fold(0, u64::saturating_add) }
    }

    /// Bytes that a rank needs: its blocks of operands and output, intermediates, and packing workspace. A run on dense
    /// arrays, whole or of single blocks, uses no more; on one rank a run measures the same, to the byte. Without a
    /// [`target`](crate::Options::target), packing is not counted. Cost: that of the rank's schedule, and of planning
    /// its local contractions.
    pub fn peak_bytes(&self, rank: usize) -> u64 {
        Packing::new(self).peak_bytes(&self.schedule(rank))
    }

    /// The rank with the most bytes of user tensors that are held whole, and these bytes.
    pub(super) fn users_bytes(&self) -> (usize, u64) {
        let bytes = |value: &Value, rank| self.block_bytes(value, rank, &self.whole_shape(value));
        let all = (0..self.ranks())
            .map(|rank| (rank, self.users(rank, self.result).map(|v| bytes(v, rank)).fold(0, u64::saturating_add)));
        all.max_by_key(|&(rank, bytes)| (bytes, std::cmp::Reverse(rank))).unwrap_or_default()
    }

    /// The user tensors that are held whole and of which a rank has a block.
    fn users(&self, rank: usize, output: ResultResidency) -> impl Iterator<Item = &Value> {
        let output = (output == ResultResidency::Whole).then(|| self.output());
        let values = self.leaves.iter().map(|&leaf| &self.values[leaf]).chain(output);
        values.filter(move |value| value.distribution.block(&value.shape, rank).is_some())
    }

    fn block_bytes(&self, value: &Value, rank: usize, shape: &[usize]) -> u64 {
        value.distribution.block_or_empty(shape, rank).volume().saturating_mul(self.dtype.size()) as u64
    }
}

/// Largest prime factor that is found by trial division.
const MAX_FACTOR: usize = 1 << 20;

/// The divisors of a number in ascending order, from 1. Complete for numbers up to 2^40; beyond that, the cofactor
/// without prime factors up to 2^20 counts as a single factor. Cost: a million divisions at most.
pub(super) fn divisors(number: usize) -> Vec<usize> {
    if number == 0 {
        return Vec::new();
    }
    let mut all = vec![1];
    let (mut rest, mut factor) = (number, 2);
    while rest > 1 {
        if factor > MAX_FACTOR || factor > rest / factor {
            factor = rest;
        }
        // The new divisors have one more of this factor than the last ones.
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
mod tests {
    use super::*;

    #[test]
    fn all_divisors() {
        assert_eq!(divisors(1), [1]);
        assert_eq!(divisors(36), [1, 2, 3, 4, 6, 9, 12, 18, 36]);
        assert_eq!(divisors(1021), [1, 1021]);
        assert_eq!(divisors(1 << 33).len(), 34);
        assert_eq!(divisors(6_000_000_000).len(), 11 * 2 * 10);
        // Two large primes.
        assert_eq!(divisors(4_294_967_291 * 3), [1, 3, 4_294_967_291, 4_294_967_291 * 3]);
        assert!(divisors(usize::MAX).into_iter().all(|divisor| usize::MAX.is_multiple_of(divisor)));
        for number in 1..500usize {
            let every: Vec<usize> = (1..=number).filter(|divisor| number.is_multiple_of(*divisor)).collect();
            assert_eq!(divisors(number), every);
        }
    }
}
