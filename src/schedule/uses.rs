//! Finds the tasks that use (read or write) overlapping boxes of one buffer.
//!
//! A write removes all uses that it covers, because waiting for it includes them. Of reads of the same box on one lane
//! only the last is stored, because lanes complete in order.
//!
//! Boxes are sorted along a dimension in which the first two are disjoint, so a query visits only possible overlaps.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::{Lane, TaskId, View};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    pub task: TaskId,
    pub lane: Lane,
    pub write: bool,
}

/// The uses to wait for. A read waits for writes only, so these are stored apart.
#[derive(Debug, Default)]
pub struct Uses {
    writes: Boxes,
    reads: Boxes,
}

impl Uses {
    pub fn conflicting<'a>(&'a self, view: &'a View, write: bool) -> impl Iterator<Item = Use> + 'a {
        self.writes.overlapping(view).chain(write.then(|| self.reads.overlapping(view)).into_iter().flatten())
    }

    /// Records a use, and removes those that it replaces, unless both may run at the same time (`may_overlap`).
    pub fn insert(&mut self, view: &View, new: Use, may_overlap: impl Fn(TaskId) -> bool) {
        if view.elements() == 0 {
            return;
        }
        if new.write {
            self.writes.remove_covered(view, new.task);
            self.reads.remove_covered(view, new.task);
            self.writes.push(view, new, |_| true);
        } else {
            self.reads.push(view, new, |used| used.lane != new.lane || may_overlap(used.task));
        }
    }
}

/// Uses of boxes, by their start along one dimension and a hash of the box, so that equal boxes are together.
#[derive(Debug, Default)]
struct Boxes {
    dim: usize,
    longest: usize,
    entries: BTreeMap<(usize, u64), Vec<(View, Use)>>,
}

impl Boxes {
    fn overlapping<'a>(&'a self, view: &'a View) -> impl Iterator<Item = Use> + 'a {
        let reach = self.reach(view);
        self.entries.range(reach).flat_map(|(_, uses)| uses).filter(|(v, _)| v.overlaps(view)).map(|(_, u)| *u)
    }

    /// Removes the uses in a box by other tasks.
    fn remove_covered(&mut self, view: &View, task: TaskId) {
        let reach = self.reach(view);
        let covered = |(v, u): &(View, Use)| u.task != task && view.covers(v);
        let emptied = self.entries.range_mut(reach).filter_map(|(key, uses)| {
            uses.retain(|entry| !covered(entry));
            uses.is_empty().then_some(*key)
        });
        for key in emptied.collect::<Vec<_>>() {
            self.entries.remove(&key);
        }
    }

    /// Also removes uses of an equal box that `keep` rejects.
    fn push(&mut self, view: &View, new: Use, keep: impl Fn(&Use) -> bool) {
        self.choose_dimension(view);
        self.longest = self.longest.max(view.bounds.get(self.dim).map_or(1, ExactSizeIterator::len));
        let uses = self.entries.entry(self.key(view)).or_default();
        uses.retain(|(v, u)| v != view || keep(u));
        uses.push((view.clone(), new));
    }

    fn key(&self, view: &View) -> (usize, u64) {
        let mut hasher = DefaultHasher::new();
        view.bounds.hash(&mut hasher);
        (view.bounds.get(self.dim).map_or(0, |range| range.start), hasher.finish())
    }

    /// The range of keys of boxes that may overlap `view`.
    fn reach(&self, view: &View) -> Range<(usize, u64)> {
        let (start, end) = view.bounds.get(self.dim).map_or((0, 1), |range| (range.start, range.end));
        (start.saturating_sub(self.longest), 0)..(end.max(start + 1), 0)
    }

    /// With the second box, chooses a dimension in which both are disjoint.
    fn choose_dimension(&mut self, view: &View) {
        let mut all = self.entries.values().flatten();
        let (Some((first, _)), None) = (all.next(), all.next()) else { return };
        let separating = first.bounds.iter().zip(&view.bounds).position(|(a, b)| a.end <= b.start || b.end <= a.start);
        if let Some(dim) = separating.filter(|&dim| dim != self.dim) {
            let old = std::mem::take(&mut self.entries);
            self.dim = dim;
            self.longest = first_length(&old, dim);
            for (view, used) in old.into_values().flatten() {
                self.entries.entry(self.key(&view)).or_default().push((view, used));
            }
        }
    }
}

fn first_length(entries: &BTreeMap<(usize, u64), Vec<(View, Use)>>, dim: usize) -> usize {
    entries.values().flatten().map(|(view, _)| view.bounds[dim].len()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
