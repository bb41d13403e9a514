//! Finds the tasks that use (read or write) overlapping boxes of one buffer.
//!
//! A write removes all uses that it covers, because waiting for it includes them. Of reads of the same box on one lane
//! only the last is stored, because lanes complete in order.

use smallvec::SmallVec;

use super::boxes::BoxMap;
use super::{Lane, TaskId, View};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    pub task: TaskId,
    pub lane: Lane,
    pub write: bool,
}

type Boxes = BoxMap<SmallVec<[Use; 1]>>;

/// A read waits for writes only, so these are stored apart.
#[derive(Debug, Default)]
pub struct Uses {
    writes: Boxes,
    reads: Boxes,
}

impl Uses {
    pub fn conflicting<'a>(&'a self, view: &'a View, write: bool) -> impl Iterator<Item = Use> + 'a {
        let reads = write.then(|| self.reads.values(&view.bounds));
        self.writes.values(&view.bounds).chain(reads.into_iter().flatten()).flatten().copied()
    }

    /// Records a use, and removes those that it replaces, unless both may run at the same time (`may_overlap`).
    pub fn insert(&mut self, view: &View, new: Use, may_overlap: impl Fn(TaskId) -> bool) {
        if view.elements() == 0 {
            return;
        }
        let uses = if new.write {
            remove_covered(&mut self.writes, view, new.task);
            remove_covered(&mut self.reads, view, new.task);
            self.writes.entry(&view.bounds)
        } else {
            let uses = self.reads.entry(&view.bounds);
            uses.retain(|used| used.lane != new.lane || may_overlap(used.task));
            uses
        };
        uses.push(new);
    }
}

fn remove_covered(boxes: &mut Boxes, view: &View, task: TaskId) {
    boxes.retain(&view.bounds, |bounds, uses| {
        let covered = bounds.iter().zip(&view.bounds).all(|(&[start, end], by)| by.start <= start && end <= by.end);
        uses.retain(|used| !covered || used.task == task);
        !uses.is_empty()
    });
}

#[cfg(test)]
mod tests;
