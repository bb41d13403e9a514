//! Defines the values that are printed at the end of a run.
//!
//! Invariant: the values are the same on every rank, except for the name of the kernel, which each process determines
//! for itself. The result tensor is not among these values, because it is consumed part by part (see `result_sink`).

use einsum_dist::Error;
use einsum_dist::report::{CheckReport, Measured, Seconds};

use super::check::Overflow;

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    pub measured: Vec<Measured>,
    pub compile_seconds: f64,
    pub seconds: Seconds,
    /// Number of slices that were taken from a checkpoint.
    pub resumed_slices: usize,
    pub norm: f64,
    pub check: Option<CheckReport>,
    /// The elements that overflow the element type, if the check found any.
    pub overflow: Option<Overflow>,
    /// The name of the contraction kernel that this process used.
    pub kernel: &'static str,
    /// The error of a trace or timeline file that could not be written.
    pub trace_error: Option<Error>,
}
