//! Reports a plan and the measurements of its run, as the JSON object that the command line prints.
//!
//! | file | contents |
//! |---|---|
//! | `types` | the values of a report, and the measurements of a rank |
//! | `build` | the report of a plan |
//!
//! Invariant: planned values are computed by [`Plan`]; measured values are `None` before a run. [`crate::exec`]
//! measures, and the program prints text for people.

#![warn(missing_docs)]

mod build;
mod types;

pub use types::{
    ByLink, Bytes, CheckReport, MaxMean, Measured, NodeReport, OutputReport, Peak, RankReport, Report, Seconds,
};

use crate::plan::Plan;

impl Plan {
    /// Returns the plan as a report. `measured` contains the measurements of each rank, in rank order, as
    /// [`Program::measured`](crate::Program::measured) returns them. With `measured`, the schedules of all ranks are
    /// built; without it, only those of the sampled ranks.
    pub fn report(&self, measured: Option<&[Measured]>) -> Report {
        build::of_plan(self, measured)
    }
}
