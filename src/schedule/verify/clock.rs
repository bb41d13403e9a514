//! Vector clocks: which tasks of a rank are complete when a task starts.
//!
//! Invariant: a lane completes its tasks in order, so one number per lane says which of them are complete.

/// By lane, the number of its tasks that are complete.
pub type Clock = [usize; 3];
