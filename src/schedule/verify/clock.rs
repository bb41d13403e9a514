//! Defines vector clocks, which record the tasks of a rank that are complete when a task starts.
//!
//! A lane completes its tasks in order, so one count per lane identifies its complete tasks.

/// The number of complete tasks on each lane.
pub type Clock = [usize; 3];
