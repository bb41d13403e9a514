//! Scales values by powers of two as they are computed, and measures them, so that none leaves the range of its type.

use std::sync::atomic::{AtomicU64, Ordering};

/// The powers of two of a rank's values, and the largest numbers that the rank has written.
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

    /// The factor of a contraction.
    pub fn of(&self, value: usize) -> f64 {
        2f64.powi(self.exponents[self.tensors[value]])
    }

    /// Notes the largest absolute number of elements of a value.
    pub fn measure(&self, value: usize, largest: f64) {
        self.largest[self.tensors[value]].fetch_max(largest.abs().to_bits(), Ordering::Relaxed);
    }

    /// The largest absolute number that was measured for each value, 0 without any, or NaN.
    pub fn largest(&self) -> impl Iterator<Item = f64> {
        self.largest.iter().map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)))
    }
}
