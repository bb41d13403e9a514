//! The Frobenius norm of a result of any size and scale.
//!
//! Squares of large, ordinary and small numbers are summed separately, the first and last scaled into the range of
//! double precision (J. L. Blue, A Portable Fortran Program to Find the Euclidean Norm of a Vector, ACM TOMS 4 (1978)).
//! Each is a compensated sum over plainly summed blocks.
//!
//! NaN gives NaN, otherwise infinity gives infinity. The same blocks in the same order give the same bits.

use super::compensated::Compensated;

/// Numbers outside these limits are scaled; 2^60 squares within them do not overflow when summed.
const MAX_UNSCALED: f64 = power(480);
const MIN_UNSCALED: f64 = power(-480);
/// Multiplies large numbers and divides small ones.
const SCALE: f64 = power(-600);
/// Values in a plainly summed block.
const BLOCK: usize = 1 << 12;

/// 2^`exponent`, which must be a normal number.
const fn power(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `number` times 2^`exponent`, which may be out of range.
pub fn scaled(mut number: f64, exponent: i64) -> f64 {
    // Doubles differ by a factor of at most 2^2200.
    let mut left = exponent.clamp(-2200, 2200) as i32;
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        number *= 2f64.powi(step);
        left -= step;
    }
    number
}

/// The decimal logarithm of a norm times 2^`exponent`, if positive and finite.
pub fn log10(norm: f64, exponent: i64) -> Option<f64> {
    (norm > 0.0 && norm.is_finite()).then(|| norm.log10() + exponent as f64 * std::f64::consts::LOG10_2)
}

/// Formats a norm times 2^`exponent`, which may exceed the range of double precision.
pub fn text(norm: f64, exponent: i64) -> String {
    let value = scaled(norm, exponent);
    match log10(norm, exponent).filter(|_| !value.is_normal()) {
        None => format!("{value:.6e}"),
        Some(log) => {
            let digits = format!("{:.6}", 10f64.powf(log - log.floor()));
            let (digits, power) = if digits.starts_with("10") { ("1.000000", 1.0) } else { (&digits[..], 0.0) };
            format!("{digits}e{}", log.floor() + power)
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Norm {
    /// Of large, ordinary and small numbers' squares.
    sums: [Compensated; 3],
    /// The same over the current block only.
    block: [f64; 3],
    added: usize,
    /// The sum of infinite and NaN sizes.
    special: f64,
}

impl Norm {
    pub fn add(&mut self, number: f64) {
        let size = number.abs();
        if (MIN_UNSCALED..=MAX_UNSCALED).contains(&size) {
            self.block[1] += size * size;
        } else if size < MIN_UNSCALED {
            let scaled = size / SCALE;
            self.block[2] += scaled * scaled;
        } else if size.is_finite() {
            let scaled = size * SCALE;
            self.block[0] += scaled * scaled;
        } else {
            self.special += size;
        }
        self.added += 1;
        if self.added == BLOCK {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        self.sums.iter_mut().zip(&self.block).for_each(|(sum, &block)| sum.add(block));
        (self.block, self.added) = ([0.0; 3], 0);
    }

    /// The sums for other processes.
    pub fn numbers(mut self) -> [f64; 4] {
        self.end_block();
        let [large, ordinary, small] = self.sums.map(|sum| sum.total());
        [large, ordinary, small, self.special]
    }

    /// The norm of several processes' numbers, added in order, reproducibly.
    pub fn of<'a>(processes: impl Iterator<Item = &'a [f64]>) -> f64 {
        let (mut sums, mut special) = ([Compensated::default(); 3], 0.0);
        for numbers in processes {
            sums.iter_mut().zip(numbers).for_each(|(sum, &number)| sum.add(number));
            special += numbers.last().unwrap_or(&0.0);
        }
        let [large, ordinary, small] = sums.map(|sum| sum.total());
        if special != 0.0 {
            special
        } else if large > 0.0 {
            (large + ordinary * SCALE * SCALE).sqrt() / SCALE
        } else if ordinary > 0.0 {
            (ordinary + small * SCALE * SCALE).sqrt()
        } else {
            small.sqrt() * SCALE
        }
    }
}

#[cfg(test)]
mod tests;
