//! What a run reports: a plan and its measurements, as the JSON object of the command line.
//!
//! | file | holds |
//! |---|---|
//! | `types` | the values of a report, and the measurements of a rank |
//! | `build` | the report of a plan |
//!
//! Invariant: everything planned is that of [`Plan`]; everything measured is `None` before a run. Deliberately absent:
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
    /// [`Program::measured`](crate::Program::measured) returns them. Cost: that of the schedules of all ranks with
    /// `measured`, else of the sampled ranks.
    pub fn report(&self, measured: Option<&[Measured]>) -> Report {
        build::of_plan(self, measured)
    }
}
