//! Defines the values that are printed at the end of a run.
//!
//! Invariant: they are the same on every rank, except for the kernel's name and the time for reading. The result tensor is consumed part by part
//! (`result_sink`).

use einsum_dist::Error;
use einsum_dist::report::{CheckReport, Measured, Seconds};

use super::check::Overflow;
use super::range::OutOfRange;

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    pub measured: Vec<Measured>,
    pub compile_seconds: f64,
    pub seconds: Seconds,
    /// Seconds for reading operands in parts in the last run, on this process.
    pub reading_seconds: f64,
    /// Number of slices that were taken from a checkpoint.
    pub resumed_slices: usize,
    /// The norm of the elements.
    pub norm: f64,
    /// The exponent of the power of two by which the elements are to be multiplied, with `--exponent`.
    pub exponent: Option<i64>,
    /// How the result left the range of its type, if it did.
    pub out_of_range: Option<OutOfRange>,
    pub check: Option<CheckReport>,
    /// The elements that overflow the element type, if the check found any.
    pub overflow: Option<Overflow>,
    /// The name of the contraction kernel that this process used.
    pub kernel: &'static str,
    /// The error of a trace or timeline file that could not be written.
    pub trace_error: Option<Error>,
}
