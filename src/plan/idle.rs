//! The idle ranks of a plan.
//!
//! Invariant: a rank is idle if it holds no element of any tensor of the plan and its schedule has no task.
//! Synchronisation at the start and at the end of a run does not count.

use super::{Plan, Value};

impl Plan {
    /// The number of ranks that have no task and hold no block. There are idle ranks if the work cannot be shared among
    /// all, or if a plan with fewer ranks is predicted to be faster. Cost: the blocks of every rank, and the schedules
    /// of those that hold nothing.
    ///
    /// ```
    /// use einsum_dist::{Machine, Options, Problem};
    /// let scalar = Problem::parse("->")?.shapes(&[vec![]])?;
    /// assert_eq!(scalar.plan(&Machine::new(3, 1), &Options::default())?.idle_ranks(), 2);
    /// # Ok::<(), einsum_dist::Error>(())
    /// ```
    pub fn idle_ranks(&self) -> usize {
        let holds = |value: &Value, rank: usize| {
            let block = value.distribution.block(&self.whole_shape(value), rank);
            block.is_some_and(|block| block.volume() > 0)
        };
        let idle = |rank: &usize| {
            !self.values.iter().any(|value| holds(value, *rank)) && self.schedule(*rank).tasks.is_empty()
        };
        (0..self.ranks()).filter(idle).count()
    }
}
