//! Which ranks of a plan have nothing to do.
//!
//! Invariant: a rank is idle if it holds no element of any tensor of the plan and its schedule has no task; what it would wait for at
//! the start and at the end of a run does not count.

use super::{Plan, Value};

impl Plan {
    /// How many ranks have no task and hold no block: more than the work is shared among, or that a plan with fewer is
    /// predicted to be quicker than one with all of them. Cost: a look at every rank's blocks, and the schedules of those
    /// ranks that hold nothing.
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
