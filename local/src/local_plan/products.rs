//! Plans batches of small products of equal size for LIBXSMM, each read and written in place.
//!
//! Invariants: m, n and k are one dimension each, with leading dimensions in the supported range and at least the
//! extents. No two products write the same element of `out`. Whether LIBXSMM has code for a size is not checked.

use std::cmp::Reverse;
use std::ops::Range;

use super::Dim;
use super::sum::offset;
use super::target::MIN_PARALLEL_MULTIPLY_ADDS;

/// The largest m, n and k for which LIBXSMM is designed.
const MAX_EXTENT: usize = 64;
/// With fewer multiply-adds, the call takes longer than the computation.
const MIN_MULTIPLY_ADDS: usize = 256;
const MIN_PRODUCTS: usize = 4;
/// Generated code has 32-bit distances in bytes.
const MAX_LEADING_DIMENSION: usize = (1 << 24) - 1;

/// Column-major products `out = left right`. Strides are in the order `left`, `right`, `out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallBatchPlan {
    /// Whether `left` is the contraction's right operand, as in row-major products.
    pub swapped: bool,
    pub extents: [usize; 3],
    /// Strides between columns in `left`, `right` and `out`, or between rows of a row-major `right`.
    pub leads: [usize; 3],
    pub right_by_rows: bool,
    pub batch: Vec<Dim<3>>,
    pub shares: usize,
}

impl SmallBatchPlan {
    pub(super) fn new(dims: &[Vec<Dim<3>>; 4], threads: usize) -> Option<SmallBatchPlan> {
        let [batch, m, n, k] = dims;
        let (&[m], &[n], &[k]) = (m.as_slice(), n.as_slice(), k.as_slice()) else { return None };
        let count: usize = batch.iter().map(|d| d.extent).product();
        let sizes = [m, n, k].map(|d| d.extent);
        if count < MIN_PRODUCTS || sizes.iter().any(|&size| size > MAX_EXTENT) {
            return None;
        }
        let each: usize = sizes.iter().product();
        if each < MIN_MULTIPLY_ADDS {
            return None;
        }
        let (swapped, rows, cols, [left, right]) = match (m.strides[2], n.strides[2]) {
            (1, _) => (false, m, n, [0, 1]),
            (_, 1) => (true, n, m, [1, 0]),
            _ => return None,
        };
        let lead = |stride: isize, least: usize| {
            usize::try_from(stride).ok().filter(|stride| (least..=MAX_LEADING_DIMENSION).contains(stride))
        };
        let right_by_rows = k.strides[right] != 1;
        let (step, across, least) = match right_by_rows {
            false => (k.strides[right], cols.strides[right], k.extent),
            true => (cols.strides[right], k.strides[right], cols.extent),
        };
        if rows.strides[left] != 1 || step != 1 {
            return None;
        }
        let leads = [lead(k.strides[left], rows.extent)?, lead(across, least)?, lead(cols.strides[2], rows.extent)?];
        let parallel = count as f64 * each as f64 >= MIN_PARALLEL_MULTIPLY_ADDS;
        let order = |dim: &Dim<3>| Dim { strides: [left, right, 2].map(|t| dim.strides[t]), ..*dim };
        let mut batch: Vec<Dim<3>> = batch.iter().map(order).collect();
        batch.sort_by_key(|dim| Reverse(dim.strides[2].unsigned_abs()));
        Some(SmallBatchPlan {
            swapped,
            extents: [rows.extent, cols.extent, k.extent],
            leads,
            right_by_rows,
            batch,
            shares: if parallel { threads.clamp(1, count) } else { 1 },
        })
    }

    pub fn products(&self) -> usize {
        self.batch.iter().map(|d| d.extent).product()
    }

    pub fn share(&self, number: usize) -> Range<usize> {
        let count = self.products();
        count * number / self.shares..count * (number + 1) / self.shares
    }

    /// A product's offsets, how many from it on are evenly spaced, and their strides.
    pub fn run(&self, product: usize) -> ([isize; 3], usize, [isize; 3]) {
        let start = offset(&self.batch, product);
        match self.batch.last() {
            Some(dim) => (start, dim.extent - product % dim.extent, dim.strides),
            None => (start, 1, [0; 3]),
        }
    }

    /// For a product that is scaled or added.
    pub fn share_elements(&self) -> usize {
        self.extents[0] * self.extents[1]
    }

    pub fn workspace_elements(&self) -> usize {
        self.shares * self.share_elements()
    }
}

#[cfg(test)]
mod tests;
