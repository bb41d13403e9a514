//! Reports a plan and the measurements of its run. The command line prints the report as a JSON object.
//!
//! | file | contents |
//! |---|---|
//! | `types` | the values of a report, and the measurements of a rank |
//! | `build` | the report of a plan |
//!
//! Invariant: [`Plan`] computes the planned values; measured values are `None` before a run. [`crate::exec`] measures.
//! This module does not format plans as text.

#![warn(missing_docs)]

mod build;
mod types;

pub use types::{
    ByLink, Bytes, CheckReport, MaxMean, Measured, NodeReport, OutputReport, PathSearchReport, Peak, RankReport,
    Report, Seconds,
};

use crate::plan::Plan;

impl Plan {
    /// Returns the plan as a report. `measured` contains the measurements of each rank, in rank order, as
    /// [`Program::measured`](crate::Program::measured) returns them. If `measured` is `Some`, the report is computed
    /// from the schedules of all ranks; otherwise, from the schedules of a few sampled ranks.
    pub fn report(&self, measured: Option<&[Measured]>) -> Report {
        build::of_plan(self, measured)
    }
}
