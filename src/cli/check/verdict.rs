//! One element beside what it should be, and all of them together.
//!
//! Invariants: a number is accepted within the limits only; NaN only where double precision has NaN; infinity only where it
//! has the same, or a number beyond the type. Parts of complex numbers are looked at each by itself. What may be an
//! overflow on the way is kept apart, until the operands have been looked at.

use num_complex::Complex;

use super::limits::{Limits, Reach};
use super::sum::Wanted;

/// Absolute products below which some may be too small for double precision.
const SMALL: f64 = 1e-290;

/// What has been found in some elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    pub checked: u64,
    /// The largest error in units of its own bound, this error, and this bound.
    pub worst: f64,
    pub error: f64,
    pub bound: f64,
    /// What both are relative to.
    pub magnitude: f64,
    /// By how much more than the limits an element is off, at most.
    pub excess: f64,
    /// Elements that are no number where there should be one, and sums of the element's products may be too large.
    pub spilled: u64,
    /// The same, where only sums of a step on the way may be too large.
    pub lost: u64,
    /// Elements that are infinite where double precision has a number beyond the type.
    pub overflowed: u64,
    /// Elements that are infinite in double precision, too.
    pub infinite: u64,
    /// Elements that are numbers where double precision has none, or hardly any.
    pub unclear: u64,
    /// The largest element or sum of products of those, and where it is.
    pub largest: f64,
    pub place: Vec<usize>,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            checked: 0,
            worst: 0.0,
            error: 0.0,
            bound: 0.0,
            magnitude: 0.0,
            excess: 0.0,
            spilled: 0,
            lost: 0,
            overflowed: 0,
            infinite: 0,
            unclear: 0,
            largest: 0.0,
            place: Vec::new(),
        }
    }
}

impl Tally {
    /// Of two disjoint sets of elements.
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
        self.spilled += other.spilled;
        self.lost += other.lost;
        self.overflowed += other.overflowed;
        self.infinite += other.infinite;
        self.unclear += other.unclear;
        self
    }

    /// As numbers, for other processes: places have `rank` of them.
    pub fn numbers(&self, rank: usize) -> Vec<f64> {
        let counts = [self.checked, self.spilled, self.lost, self.overflowed, self.infinite, self.unclear];
        let mut numbers = vec![self.worst, self.error, self.bound, self.magnitude, self.excess, self.largest];
        numbers.extend(counts.map(|count| count as f64));
        numbers.extend((0..rank).map(|dim| self.place.get(dim).map_or(0.0, |&at| at as f64)));
        numbers
    }

    /// What [`Tally::numbers`] has made of one.
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
            spilled: at(7) as u64,
            lost: at(8) as u64,
            overflowed: at(9) as u64,
            infinite: at(10) as u64,
            unclear: at(11) as u64,
            place: numbers.iter().skip(12).map(|&at| at as usize).collect(),
        }
    }

    /// Whether the operands have to be looked at.
    pub fn is_open(&self) -> bool {
        self.lost + self.infinite + self.unclear > 0 || (self.excess > 0.0 && self.excess.is_finite())
    }

    /// Whether double precision itself may have met numbers beyond its range, or the operands explain what is off: then elements have to
    /// be looked at along the tree, with operands that are scaled.
    pub fn is_unclear(&self, limits: &Limits, reach: &Reach) -> bool {
        let explained = self.excess > 0.0 && self.excess <= reach.absolute - limits.absolute;
        self.lost + self.spilled + self.infinite + self.unclear > 0 || explained
    }

    /// What remains when the operands have been looked at.
    pub fn settle(&mut self, limits: &Limits, reach: &Reach) {
        // An overflow makes infinities and NaN of numbers; operands that are none make others.
        let too_large = reach.finite && reach.largest >= limits.largest;
        if too_large {
            if self.lost > 0 {
                self.largest = reach.largest;
            }
            self.spilled += self.lost;
            self.overflowed += self.infinite;
            self.lost = 0;
        }
        self.infinite = 0;
        let more = reach.absolute - limits.absolute;
        if self.excess <= more {
            if self.magnitude > 0.0 {
                self.bound += more / self.magnitude;
            }
            self.excess = 0.0;
        }
    }

    /// Whether all elements are as they should be, or as the type makes them.
    pub fn is_right(&self) -> bool {
        self.excess <= 0.0 && self.lost == 0 && self.spilled == 0
    }
}

/// Compares an element at a place of the result.
pub fn judge(limits: &Limits, got: Complex<f64>, want: Wanted, place: &[usize]) -> Tally {
    let mut tally = Tally { checked: 1, bound: limits.relative, ..Tally::default() };
    let (magnitude, bounded) = (want.magnitude.min(f64::MAX), want.magnitude.is_finite());
    let room = limits.room(&want);
    let parts = [(got.re, want.value.re), (got.im, want.value.im)];
    let parts = &parts[..if limits.complex { 2 } else { 1 }];
    let undefined = limits.unordered && !want.value.is_finite();
    let mut off = [0.0; 2];
    for (&(got, want), off) in parts.iter().zip(&mut off) {
        if undefined {
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
                tally.lost = 1;
                0.0
            }
            (false, true) => {
                let beyond = want.abs() + room >= limits.largest;
                if !bounded {
                    // Other parts or products are no numbers: the operands have to say why.
                    tally.lost = 1;
                } else if got.is_infinite() && beyond && (got > 0.0) == (want > 0.0) {
                    tally.overflowed = 1;
                } else if magnitude * (1.0 + limits.relative) + room >= limits.largest {
                    tally.spilled = 1;
                } else {
                    tally.lost = 1;
                }
                0.0
            }
        };
    }
    if undefined && got.is_finite() {
        off[0] = f64::INFINITY;
    }
    if tally.overflowed + tally.spilled + tally.lost > 0 {
        tally.largest = if tally.overflowed > 0 { want.value.norm() } else { want.magnitude };
        tally.place = place.to_vec();
        // Each element counts once, as the worst that its parts are.
        (tally.overflowed, tally.spilled, tally.lost) = match (tally.lost, tally.spilled) {
            (1, _) => (0, 0, 1),
            (_, 1) => (0, 1, 0),
            _ => (1, 0, 0),
        };
    }
    let off = off[0].hypot(off[1]);
    if off == 0.0 {
        return tally;
    }
    tally.worst = off / room;
    tally.excess = if off <= room { 0.0 } else { off - room };
    if tally.excess > 0.0 && magnitude < SMALL {
        tally.unclear = 1;
    }
    if magnitude > 0.0 {
        (tally.magnitude, tally.error, tally.bound) = (magnitude, off / magnitude, room / magnitude);
    } else if tally.excess > 0.0 {
        tally.error = f64::INFINITY;
    }
    tally
}
