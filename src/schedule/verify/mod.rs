//! Proves that the schedules of a plan are correct, for any number of ranks, without running them and without tensor
//! data.
//!
//! There are two levels. [`own`] checks the schedule of one rank. Views must be inside buffers, and edges must order
//! any two tasks that access the same elements if at least one of them writes. [`whole`] checks the schedules of all
//! ranks together. Sends and receives must match, and no element may be read before it is written. The run must
//! terminate even with one transfer in flight per lane and no buffering. [`whole`] also follows the *provenance* of
//! every element, from the operands through every computation and transfer, and compares it with the expression. Each
//! element of `out` must contain the product for each value of the summed index k exactly once, on every owner and
//! replica.
//!
//! Conjugation is not followed: the flags of a schedule are compared with those of the plan.
//!
//! The verifier derives the contents of all boxes itself. A task only states which boxes it reads and writes.
//!
//! The cost of [`whole`] is linear in the total number of tasks on all ranks. For thousands of ranks, [`follow`] checks
//! only the result blocks of some ranks.

mod clock;
mod cone;
mod error;
mod hazard;
mod provenance;
mod run;
mod semantics;
mod sharing;
mod spec;

pub use cone::follow;
pub use error::{Fault, VerifyError};
pub use spec::{Order, Origin, Spec, Summand, Value};

use super::Schedule;

/// A schedule that [`own`] has checked. The executor accepts no other schedules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified(Schedule);

impl Verified {
    pub fn schedule(&self) -> &Schedule {
        &self.0
    }
}

/// Checks the bounds and the hazards of one rank's schedule.
///
/// # Errors
/// If a check fails. The error describes the first fault found, with its rank and task.
pub fn own(schedule: Schedule, spec: &Spec) -> Result<Verified, VerifyError> {
    hazard::check(&schedule, spec)?;
    Ok(Verified(schedule))
}

/// Checks the schedule of each rank by itself, and then the schedules of all ranks together. `budget` is the memory
/// limit per rank, in bytes.
///
/// # Errors
/// If a check fails. The error describes the first fault found, with its rank and task.
pub fn whole(schedules: &[Schedule], spec: &Spec, budget: Option<u64>) -> Result<(), VerifyError> {
    for (rank, schedule) in schedules.iter().enumerate() {
        let at = |fault| VerifyError { rank, task: None, fault };
        if (schedule.rank, schedule.ranks) != (rank, schedules.len()) {
            return Err(at(Fault::Ranks));
        }
        hazard::check(schedule, spec)?;
        let peak = schedule.peak_bytes();
        if let Some(budget) = budget.filter(|&budget| peak > budget) {
            return Err(at(Fault::Memory { peak, budget }));
        }
    }
    run::check(schedules, spec)
}
