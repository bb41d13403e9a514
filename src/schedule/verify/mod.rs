//! Proves that the schedules of a plan are correct for any number of ranks, without running them and without data.
//!
//! There are two levels. [`own`] checks one rank: views stay inside buffers, and any two tasks that access the same
//! elements are ordered by edges if one of them writes. [`whole`] checks all ranks together: transfers match, the run
//! terminates with one transfer in flight per lane and no buffering, and nothing is read before it is written. It also
//! follows the *provenance* of every element, from the operands through every task and transfer, and compares it with
//! the expression: each element of `out` contains the product for each index of k exactly once, on every owner and
//! replica.
//!
//! Provenance is derived, never declared: a task states which boxes it reads and writes, but not their contents.
//!
//! The cost of [`whole`] is linear in the number of tasks on all ranks. For thousands of ranks, [`follow`] checks the
//! blocks of only some ranks.

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

/// A schedule whose bounds and hazards have been checked. The executor accepts no other schedules.
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
/// If there is a fault; the error is the first fault found, with its rank and task.
pub fn own(schedule: Schedule, spec: &Spec) -> Result<Verified, VerifyError> {
    hazard::check(&schedule, spec)?;
    Ok(Verified(schedule))
}

/// Checks the schedules of all ranks, first each by itself and then all together. `budget` is the memory limit in bytes
/// per rank.
///
/// # Errors
/// If there is a fault; the error is the first fault found, with its rank and task.
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
