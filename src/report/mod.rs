//! The report of a run: a plan and its measurements, as the JSON object that the command line prints.
//!
//! | file | holds |
//! |---|---|
//! | `types` | the values of a report, and the measurements of a rank |
//! | `build` | the report of a plan |
//!
//! Invariant: planned values are computed by [`Plan`]; measured values are `None` before a run. Deliberately absent:
//! measuring, which is in [`crate::exec`], and text for people, which is in the program.

#![warn(missing_docs)]

mod build;
mod types;

pub use types::{
    ByLink, Bytes, CheckReport, MaxMean, Measured, NodeReport, OutputReport, Peak, RankReport, Report, Seconds,
};

use crate::plan::Plan;

impl Plan {
    /// The plan as a report. `measured` holds the measurements of each rank, in order of ranks, as
    /// [`Program::measured`](crate::Program::measured) returns them. Cost: that of building the schedules of all ranks
    /// with `measured`, and of the sampled ranks without.
    pub fn report(&self, measured: Option<&[Measured]>) -> Report {
        build::of_plan(self, measured)
    }
}
