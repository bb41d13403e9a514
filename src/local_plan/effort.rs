//! Estimates the work and the memory traffic of local plans, to predict run times on a machine whose rates are known.
//!
//! Prices only rank plans, and count traffic in full. An effort separates it from other work. Its factors were fitted
//! to measured times (processor family 26, AVX-512), which `benches/prices.py` compares with predicted ones.

use super::permute::CopyKind;
use super::{StagedPlan, UnaryBody, UnaryPlan};

/// Factors of the prices of columns, of windows and of loops.
const COLUMNS: f64 = 1.3;
const WINDOWS: f64 = 0.55;
const LOOPS: f64 = 0.5;
/// Nanoseconds to transpose 4 bytes, to move any other element alone, to add each word of 4 bytes but the first, and to
/// start a line of words.
const TRANSPOSED: f64 = 0.19;
const ALONE: f64 = 1.0;
const ADDED: f64 = 0.05;
const LINE: f64 = 1.1;
/// The part of the shorter of work and traffic that overlaps with the longer one.
const HIDDEN: f64 = 0.8;

/// The work of a local plan.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Effort {
    /// Seconds of the multiply-adds of micro-kernels, relative to their least at a processor's peak rate; 0 if micro-kernels
    /// compute nothing.
    pub slowdown: f64,
    /// Nanoseconds of other work on one thread.
    pub nanoseconds: f64,
    /// Bytes of memory traffic.
    pub bytes: f64,
    /// The part of the shorter of work and traffic that overlaps with the longer one.
    pub hidden: f64,
    pub threads: usize,
}

impl Effort {
    /// The effort of loops that would take so many nanoseconds on one thread without traffic.
    pub(super) fn of_loops(nanoseconds: f64, bytes: f64, threads: usize) -> Effort {
        Effort { slowdown: 0.0, nanoseconds: LOOPS * nanoseconds, bytes, hidden: HIDDEN, threads }
    }
}

impl StagedPlan {
    pub(super) fn effort(&self) -> Effort {
        let (factor, hidden) = if self.windows.is_some() { (WINDOWS, 0.0) } else { (COLUMNS, HIDDEN) };
        let [work, bytes] = self.work();
        Effort { slowdown: 0.0, nanoseconds: factor * work, bytes, hidden, threads: self.shares() }
    }
}

impl UnaryPlan {
    /// The effort for elements of this many bytes.
    pub fn effort(&self, element: usize) -> Effort {
        let word = (element as f64 / 4.0).max(1.0);
        let [from, to] = self.elements().map(|elements| elements as f64);
        let (nanoseconds, threads) = match self.body() {
            UnaryBody::Staged(plan) => return plan.effort(),
            UnaryBody::Permute(permute) => {
                let each = match permute.kind() {
                    CopyKind::Lines { .. } | CopyKind::Spread => 0.0,
                    CopyKind::Tiles { .. } => TRANSPOSED * word,
                    CopyKind::Elements => ALONE,
                };
                (each * to, permute.shares())
            }
            UnaryBody::Sum(sum) => (LINE * word * (sum.units() * sum.steps()) as f64 + ADDED * (word - 1.0) * from, sum.threads),
        };
        Effort { slowdown: 0.0, nanoseconds, bytes: (from + to) * element as f64, hidden: 0.0, threads }
    }
}
