//! Defines vector clocks. The clock of a task identifies the tasks of the same rank that are certainly complete when
//! the task starts.
//!
//! A lane completes its tasks in order, so the number of complete tasks on each lane identifies them.

/// The number of complete tasks on each lane.
pub type Clock = [usize; 3];
