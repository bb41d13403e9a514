//! What a run leaves to be printed.
//!
//! Invariant: it is the same on every rank, except for the name of the kernel, which is that of the process.
//! Deliberately absent: the result itself.

use einsum_dist::Error;
use einsum_dist::report::{CheckReport, Measured, Seconds};

use super::check::Overflow;

/// The outcome of a run, the same on every rank.
#[derive(Debug)]
pub struct Outcome {
    pub measured: Vec<Measured>,
    pub compile_seconds: f64,
    pub seconds: Seconds,
    pub norm: f64,
    pub check: Option<CheckReport>,
    /// Elements that the type cannot hold, if the check found some.
    pub overflow: Option<Overflow>,
    /// The kernel that contracted in this process.
    pub kernel: &'static str,
    /// The error of a trace or timeline file that could not be written.
    pub unshown: Option<Error>,
}
