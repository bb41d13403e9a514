//! Proves that the schedules of a plan are correct, without running them.
//!
//! [`own`] checks one rank's schedule: views are inside buffers, and edges order any two accesses to the same elements
//! of which one writes. [`whole`] checks all ranks together: sends match receives, and no element is read before it is
//! written. The run terminates even with one unbuffered transfer in flight per lane. It also follows the *provenance*
//! of every element from the operands through all tasks, and compares it with the expression. Each element of `out`
//! must have the product for each summed index k exactly once, on every owner and replica.
//!
//! Conjugation is not followed: the schedule's flags are compared with the plan's.
//!
//! [`whole`] is linear in the tasks of all ranks. [`follow`] checks some result blocks only.

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

/// A vector clock: the number of tasks on each lane, which completes them in order, that are certainly complete when a
/// task starts.
type Clock = [usize; 3];

/// A schedule that [`own`] has checked, as the executor requires.
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
/// If a check fails, with the rank and task of the first fault.
pub fn own(schedule: Schedule, spec: &Spec) -> Result<Verified, VerifyError> {
    hazard::check(&schedule, spec)?;
    Ok(Verified(schedule))
}

/// Checks each rank's schedule by itself, then all together, with a memory limit of `budget` bytes per rank.
///
/// # Errors
/// If a check fails, with the rank and task of the first fault.
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
