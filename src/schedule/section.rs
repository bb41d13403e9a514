//! Parts of a schedule that run side by side: subtrees that do not depend on each other, each too small for all workers.
//!
//! ```text
//! ((a b) (c d)) e       tasks                  2 workers
//!   t = a b             0   section, lane 0    one worker     t
//!   u = c d             1   section, lane 1    the other      u
//!   v = t u             2   alone              both             v
//!   out = v e           3   alone              both               out
//! ```
//!
//! Invariants: the lanes of a section are ranges of tasks one behind another, and work only, no transfers; so the order of tasks
//! is one in which they may as well run alone. Tasks of two lanes share no memory unless they only read it (the verifier sees to
//! it), and what comes after a section waits for all of it. Deliberately absent: edges between the lanes of a section.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Schedule, TaskId};

/// Lanes that run side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub lanes: Vec<Range<TaskId>>,
}

impl Section {
    /// The tasks of all lanes.
    pub fn tasks(&self) -> Range<TaskId> {
        let first = self.lanes.first().map_or(0, |lane| lane.start);
        first..self.lanes.last().map_or(first, |lane| lane.end)
    }

    /// The lane of a task of the section.
    pub fn lane(&self, task: TaskId) -> usize {
        self.lanes.partition_point(|lane| lane.end <= task)
    }
}

impl Schedule {
    /// The section of a task, by its number; none if the task runs alone.
    pub fn section(&self, task: TaskId) -> Option<usize> {
        let at = self.sections.partition_point(|section| section.tasks().end <= task);
        self.sections.get(at).filter(|section| section.tasks().contains(&task)).map(|_| at)
    }

    /// The lane of a task in its section, 0 if it runs alone.
    pub fn lane(&self, task: TaskId) -> usize {
        self.section(task).map_or(0, |section| self.sections[section].lane(task))
    }

    /// The most lanes that run side by side.
    pub fn most_lanes(&self) -> usize {
        self.sections.iter().map(|section| section.lanes.len()).max().unwrap_or(1).max(1)
    }

    /// Whether two tasks may run at the same time.
    pub fn apart(&self, one: TaskId, other: TaskId) -> bool {
        let section = self.section(one);
        section.is_some() && section == self.section(other) && self.lane(one) != self.lane(other)
    }

    /// Whether sections follow each other, their lanes too, and all of them are work.
    pub(super) fn sections_are_sound(&self) -> bool {
        let mut next = 0;
        self.sections.iter().all(|section| {
            let starts = section.tasks().start >= next;
            next = section.tasks().start;
            let joined = section.lanes.iter().all(|lane| {
                let joined = lane.start == next && lane.end >= lane.start;
                next = next.max(lane.end);
                joined
            });
            let work = |task: TaskId| self.tasks.get(task).is_some_and(|task| task.action.work().is_some());
            starts && joined && next <= self.tasks.len() && section.tasks().all(work)
        })
    }
}
