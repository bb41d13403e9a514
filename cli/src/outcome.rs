//! Defines the values that are printed at the end of a run.
//!
//! Invariant: they are the same on every rank, except for the kernel's name and the time for reading.

use einsum_dist::Error;
use einsum_dist::report::{CheckReport, Measured, Seconds};

use super::check::Overflow;
use super::range::OutOfRange;

#[derive(Debug)]
pub struct Outcome {
    pub measured: Vec<Measured>,
    pub compile_seconds: f64,
    pub seconds: Seconds,
    /// Seconds for reading operands in parts in the last run, on this process.
    pub reading_seconds: f64,
    /// Slices that were taken from a checkpoint.
    pub resumed_slices: usize,
    pub norm: f64,
    /// With `--exponent`, the power of two by which the elements are to be multiplied.
    pub exponent: Option<i64>,
    /// How the result left the range of its type, if it did.
    pub out_of_range: Option<OutOfRange>,
    pub check: Option<CheckReport>,
    pub overflow: Option<Overflow>,
    pub kernel: &'static str,
    pub trace_error: Option<Error>,
}
