//! Proves a schedule without running it, for any number of ranks, without data.
//!
//! There are three levels. [`own`] checks one rank: views stay inside buffers, and any two tasks that access the same
//! elements, one of them writing, are ordered by edges. [`whole`] checks all ranks together: transfers match, the run
//! terminates with one transfer in flight per lane and no buffering, and nothing is read before it is written. It also
//! follows the *provenance* of every element, from the operands through every task and transfer, and compares it with
//! the expression: each element of out contains each k exactly once, on every owner and replica.
//!
//! Provenance is derived and never declared: a task states which boxes it reads and writes, not their contents.
//!
//! The cost of [`whole`] is linear in the tasks of all ranks. For thousands of ranks, [`follow`] checks the blocks of
//! only some ranks.

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
/// The first fault found, with its rank and task.
pub fn own(schedule: Schedule, spec: &Spec) -> Result<Verified, VerifyError> {
    hazard::check(&schedule, spec)?;
    Ok(Verified(schedule))
}

/// Checks the schedules of all ranks, each by itself and all together; `budget` is in bytes per rank.
///
/// # Errors
/// The first fault found, with its rank and task.
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
