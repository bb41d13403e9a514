//! Judges elements by their references, and combines the findings (`docs/check.md`).

use num_complex::Complex;

use super::limits::{Limits, OperandLimits};
use super::sum::Reference;

/// Below this sum of absolute products, some may be too small for double precision.
const MIN_MAGNITUDE: f64 = 1e-290;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    pub checked: u64,
    /// The largest `error` / `bound`, both of this element.
    pub worst: f64,
    pub error: f64,
    pub bound: f64,
    /// `error` and `bound` are relative to this sum of absolute products.
    pub magnitude: f64,
    /// The largest excess of an error over its limit.
    pub excess: f64,
    /// Infinite or NaN elements with a finite reference, whose own products may exceed the type.
    pub overflowed_sums: u64,
    /// Infinite or NaN elements that only an earlier overflow can explain.
    pub unexplained: u64,
    /// Infinite elements with a finite reference beyond the type.
    pub overflowed: u64,
    pub infinite: u64,
    /// Elements that need a second pass: they but not their references are finite, or their products may be too small
    /// for double precision, or infinite or NaN parts depend on the order of factors.
    pub unclear: u64,
    /// The largest value or sum of absolute products of overflows, and its index.
    pub largest: f64,
    pub place: Vec<usize>,
}

impl Tally {
    pub fn merge(mut self, other: Tally) -> Tally {
        if other.worst > self.worst || self.checked == 0 {
            (self.worst, self.magnitude) = (other.worst, other.magnitude);
            (self.error, self.bound) = (other.error, other.bound);
        }
        if other.largest > self.largest {
            (self.largest, self.place) = (other.largest, other.place);
        }
        self.checked += other.checked;
        self.excess = self.excess.max(other.excess);
        self.overflowed_sums += other.overflowed_sums;
        self.unexplained += other.unexplained;
        self.overflowed += other.overflowed;
        self.infinite += other.infinite;
        self.unclear += other.unclear;
        self
    }

    /// As numbers for other processes, the last `rank` (the result's dimensions) being `place`.
    pub fn numbers(&self, rank: usize) -> Vec<f64> {
        let counts =
            [self.checked, self.overflowed_sums, self.unexplained, self.overflowed, self.infinite, self.unclear];
        let mut numbers = vec![self.worst, self.error, self.bound, self.magnitude, self.excess, self.largest];
        numbers.extend(counts.map(|count| count as f64));
        numbers.extend((0..rank).map(|dim| self.place.get(dim).map_or(0.0, |&at| at as f64)));
        numbers
    }

    pub fn of_numbers(numbers: &[f64]) -> Tally {
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0.0);
        Tally {
            worst: at(0),
            error: at(1),
            bound: at(2),
            magnitude: at(3),
            excess: at(4),
            largest: at(5),
            checked: at(6) as u64,
            overflowed_sums: at(7) as u64,
            unexplained: at(8) as u64,
            overflowed: at(9) as u64,
            infinite: at(10) as u64,
            unclear: at(11) as u64,
            place: numbers.iter().skip(12).map(|&at| at as usize).collect(),
        }
    }

    /// Whether the verdict depends on the operands.
    pub fn is_open(&self) -> bool {
        self.unexplained + self.infinite + self.unclear > 0 || (self.excess > 0.0 && self.excess.is_finite())
    }

    /// Whether the range of double precision, or underflow in an earlier step, may explain the excess.
    pub fn is_unclear(&self, limits: &Limits, operand_limits: &OperandLimits) -> bool {
        let explained = self.excess > 0.0 && self.excess <= operand_limits.absolute - limits.absolute;
        self.unexplained + self.overflowed_sums + self.infinite + self.unclear > 0 || explained
    }

    /// Decides which non-finite elements are overflows, and whether underflow explains the excess.
    pub fn settle(&mut self, limits: &Limits, operand_limits: &OperandLimits) {
        // Infinities and NaN are overflows only if all operands are finite.
        let too_large = operand_limits.finite && operand_limits.largest >= limits.largest;
        if too_large {
            if self.unexplained > 0 {
                self.largest = operand_limits.largest;
            }
            self.overflowed_sums += self.unexplained;
            self.overflowed += self.infinite;
            self.unexplained = 0;
        }
        self.infinite = 0;
        let more = operand_limits.absolute - limits.absolute;
        if self.excess <= more {
            if self.magnitude > 0.0 {
                self.bound += more / self.magnitude;
            }
            self.excess = 0.0;
        }
    }

    pub fn is_right(&self) -> bool {
        self.excess <= 0.0 && self.unexplained == 0 && self.overflowed_sums == 0
    }
}

pub fn judge(limits: &Limits, got: Complex<f64>, want: Reference, place: &[usize]) -> Tally {
    let mut tally = Tally { checked: 1, bound: limits.relative, ..Tally::default() };
    let (magnitude, bounded) = (want.magnitude.min(f64::MAX), want.magnitude.is_finite());
    let tolerance = limits.tolerance(&want);
    let parts = [(got.re, want.value.re), (got.im, want.value.im)];
    let parts = &parts[..if limits.complex { 2 } else { 1 }];
    let undefined = limits.unordered && !want.value.is_finite();
    let mut off = [0.0; 2];
    for (&(got, want), off) in parts.iter().zip(&mut off) {
        if undefined {
            tally.unclear = 1;
            continue;
        }
        *off = match (got.is_finite(), want.is_finite()) {
            (true, true) => (got - want).abs(),
            (true, false) => {
                tally.unclear = 1;
                f64::INFINITY
            }
            (false, false) if got == want || (got.is_nan() && want.is_nan()) => {
                tally.infinite = u64::from(got.is_infinite());
                0.0
            }
            (false, false) => {
                tally.unexplained = 1;
                0.0
            }
            (false, true) => {
                let beyond = want.abs() + tolerance >= limits.largest;
                if !bounded {
                    // Only the operands can explain infinite or NaN parts or products of the reference.
                    tally.unexplained = 1;
                } else if got.is_infinite() && beyond && (got > 0.0) == (want > 0.0) {
                    tally.overflowed = 1;
                } else if magnitude * (1.0 + limits.relative) + tolerance >= limits.largest {
                    tally.overflowed_sums = 1;
                } else {
                    tally.unexplained = 1;
                }
                0.0
            }
        };
    }
    if undefined && got.is_finite() {
        off[0] = f64::INFINITY;
    }
    if tally.overflowed + tally.overflowed_sums + tally.unexplained > 0 {
        tally.largest = if tally.overflowed > 0 { want.value.norm() } else { want.magnitude };
        tally.place = place.to_vec();
        // Counts each element once, by its worse part.
        (tally.overflowed, tally.overflowed_sums, tally.unexplained) = match (tally.unexplained, tally.overflowed_sums)
        {
            (1, _) => (0, 0, 1),
            (_, 1) => (0, 1, 0),
            _ => (1, 0, 0),
        };
    }
    let off = off[0].hypot(off[1]);
    if off == 0.0 {
        return tally;
    }
    tally.worst = off / tolerance;
    tally.excess = if off <= tolerance { 0.0 } else { off - tolerance };
    if tally.excess > 0.0 && magnitude < MIN_MAGNITUDE {
        tally.unclear = 1;
    }
    if magnitude > 0.0 {
        (tally.magnitude, tally.error, tally.bound) = (magnitude, off / magnitude, tolerance / magnitude);
    } else if tally.excess > 0.0 {
        tally.error = f64::INFINITY;
    }
    tally
}
