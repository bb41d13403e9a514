//! Scales values by powers of two as they are computed, and measures them, so that none leaves its type's range.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub struct Scales {
    /// For each value, the contraction or operand that it is a redistribution of.
    tensors: Vec<usize>,
    /// Contractions multiply their results by 2 to these powers.
    exponents: Vec<i32>,
    /// Bits of nonnegative numbers or NaN, which are ordered like these, with NaN above infinity.
    largest: Vec<AtomicU64>,
}

impl Scales {
    pub fn new(tensors: Vec<usize>, exponents: &[i32]) -> Scales {
        let largest = exponents.iter().map(|_| AtomicU64::new(0)).collect();
        Scales { tensors, exponents: exponents.to_vec(), largest }
    }

    pub fn of(&self, value: usize) -> f64 {
        2f64.powi(self.exponents[self.tensors[value]])
    }

    pub fn measure(&self, value: usize, largest: f64) {
        self.largest[self.tensors[value]].fetch_max(largest.abs().to_bits(), Ordering::Relaxed);
    }

    /// Each value's largest measured absolute number, 0 without any, or NaN.
    pub fn largest(&self) -> impl Iterator<Item = f64> {
        self.largest.iter().map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)))
    }
}
