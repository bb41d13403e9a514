//! Reports a plan and its run's measurements; the command line prints JSON.
//!
//! | file | contents |
//! |---|---|
//! | `types` | the values of a report, and the measurements of a rank |
//! | `build` | the report of a plan |
//!
//! Invariant: [`Plan`] computes the planned values; measured values are `None` before a run.

#![warn(missing_docs)]

mod build;
mod types;

pub use types::{
    ByLink, Bytes, CheckReport, MaxMean, Measured, NodeReport, OutputReport, PathSearchReport, Peak, RankReport,
    Report, Seconds,
};

use crate::plan::Plan;

impl Plan {
    /// The plan's report. `measured` has each rank's measurements, in order, as
    /// [`Program::measured`](crate::Program::measured) returns them; the report then has all ranks' schedules, and
    /// otherwise those of a few sampled ranks.
    pub fn report(&self, measured: Option<&[Measured]>) -> Report {
        build::of_plan(self, measured)
    }
}
