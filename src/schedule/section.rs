//! Sections of a schedule, whose branches (lists of independent subtrees) workers compute at the same time.
//!
//! Invariants: branches are consecutive ranges of tasks without transfers, so they may also run in sequence. They share
//! memory only for reading, so there are no edges between them. Later tasks wait for the section.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Schedule, TaskId};

/// Branches (ranges of tasks) that run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    #[serde(rename = "lanes")]
    pub branches: Vec<Range<TaskId>>,
}

impl Section {
    pub fn tasks(&self) -> Range<TaskId> {
        let first = self.branches.first().map_or(0, |branch| branch.start);
        first..self.branches.last().map_or(first, |branch| branch.end)
    }

    pub fn branch(&self, task: TaskId) -> usize {
        self.branches.partition_point(|branch| branch.end <= task)
    }
}

impl Schedule {
    /// The section that contains a task, if any.
    pub fn section(&self, task: TaskId) -> Option<usize> {
        let at = self.sections.partition_point(|section| section.tasks().end <= task);
        self.sections.get(at).filter(|section| section.tasks().contains(&task)).map(|_| at)
    }

    /// A task's branch in its section; 0 outside sections.
    pub fn branch(&self, task: TaskId) -> usize {
        self.section(task).map_or(0, |section| self.sections[section].branch(task))
    }

    /// The maximum number of branches in a section; 1 without sections.
    pub fn max_branches(&self) -> usize {
        self.sections.iter().map(|section| section.branches.len()).max().unwrap_or(1).max(1)
    }

    /// Whether two tasks are in different branches of one section.
    pub fn may_overlap(&self, one: TaskId, other: TaskId) -> bool {
        let section = self.section(one);
        section.is_some() && section == self.section(other) && self.branch(one) != self.branch(other)
    }

    /// Whether sections are in order, with consecutive branches of work tasks only.
    pub(super) fn sections_are_valid(&self) -> bool {
        let mut next = 0;
        self.sections.iter().all(|section| {
            let starts = section.tasks().start >= next;
            next = section.tasks().start;
            let joined = section.branches.iter().all(|branch| {
                let joined = branch.start == next && branch.end >= branch.start;
                next = next.max(branch.end);
                joined
            });
            let work = |task: TaskId| self.tasks.get(task).is_some_and(|task| task.action.work().is_some());
            starts && joined && next <= self.tasks.len() && section.tasks().all(work)
        })
    }
}
