//! Estimates work and memory traffic of local plans, to predict run times on a machine with known rates.
//!
//! The factors were fitted to measured times (`benches/prices.py`).

/// Factors of prices: of columns, windows and loops.
const COLUMNS: f64 = 1.3;
const WINDOWS: f64 = 0.55;
const LOOPS: f64 = 0.5;
const HIDDEN: f64 = 0.8;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Effort {
    /// Seconds of micro-kernels' multiply-adds, relative to their least at a processor's peak rate.
    pub slowdown: f64,
    /// Nanoseconds of other work on one thread.
    pub nanoseconds: f64,
    pub bytes: f64,
    /// The part of the shorter of work and traffic that overlaps with the longer one.
    pub hidden: f64,
    pub threads: usize,
}

impl Effort {
    pub(super) fn of_loops(nanoseconds: f64, bytes: f64, threads: usize) -> Effort {
        Effort { slowdown: 0.0, nanoseconds: LOOPS * nanoseconds, bytes, hidden: HIDDEN, threads }
    }

    pub(super) fn of_blocks(windows: bool, nanoseconds: f64, bytes: f64, threads: usize) -> Effort {
        let (factor, hidden) = if windows { (WINDOWS, 0.0) } else { (COLUMNS, HIDDEN) };
        Effort { slowdown: 0.0, nanoseconds: factor * nanoseconds, bytes, hidden, threads }
    }
}

#[cfg(test)]
mod tests;
