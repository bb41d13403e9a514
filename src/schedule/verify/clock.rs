//! Defines vector clocks: the tasks of the rank that are certainly complete when a task starts.
//!
//! A lane completes its tasks in order, so their number per lane identifies them.

/// The number of complete tasks on each lane.
pub type Clock = [usize; 3];
