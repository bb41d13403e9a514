//! Vector clocks: they record which tasks of a rank are complete when a task starts.
//!
//! Invariant: a lane completes its tasks in order, so one count per lane identifies its complete tasks.

/// The number of complete tasks of each lane.
pub type Clock = [usize; 3];
