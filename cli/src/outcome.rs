//! The values of a run that are printed at its end.
//!
//! Invariant: the values are the same on every rank, except for the name of the kernel, which each process determines
//! for itself. Deliberately absent: the result itself.

use einsum_dist::Error;
use einsum_dist::report::{CheckReport, Measured, Seconds};

use super::check::Overflow;

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    pub measured: Vec<Measured>,
    pub compile_seconds: f64,
    pub seconds: Seconds,
    pub norm: f64,
    pub check: Option<CheckReport>,
    /// Elements that overflow the type, if the check found any.
    pub overflow: Option<Overflow>,
    /// The kernel that contracted in this process.
    pub kernel: &'static str,
    /// The error of a trace or timeline file that could not be written.
    pub trace_error: Option<Error>,
}
