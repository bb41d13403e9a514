//! Finds the tasks that use (read or write) overlapping boxes of one buffer.
//!
//! A write removes all uses that it covers, because waiting for the write includes them, and of reads of the same box
//! on one lane only the last is stored, because lanes complete in order.
//!
//! Boxes are sorted along a dimension in which the first two are disjoint, so a query visits only possible overlaps.

use std::collections::BTreeMap;

use super::{Lane, TaskId, View};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    pub task: TaskId,
    pub lane: Lane,
    pub write: bool,
}

#[derive(Debug, Default)]
pub struct Uses {
    /// The dimension along which entries are sorted by start.
    dim: usize,
    longest: usize,
    entries: BTreeMap<usize, Vec<(View, Use)>>,
}

impl Uses {
    pub fn overlapping<'a>(&'a self, view: &'a View) -> impl Iterator<Item = Use> + 'a {
        let reach = self.reach(view);
        self.entries.range(reach).flat_map(|(_, uses)| uses).filter(|(v, _)| v.overlaps(view)).map(|(_, u)| *u)
    }

    /// Records a use of a box, and removes those that it replaces, unless both may run at the same time
    /// (`may_overlap`).
    pub fn insert(&mut self, view: &View, new: Use, may_overlap: impl Fn(TaskId) -> bool) {
        if view.elements() == 0 {
            return;
        }
        self.choose_dimension(view);
        if new.write {
            let reach = self.reach(view);
            let covered = |(v, u): &(View, Use)| u.task != new.task && view.covers(v);
            self.entries.range_mut(reach).for_each(|(_, uses)| uses.retain(|entry| !covered(entry)));
        }
        self.longest = self.longest.max(view.bounds.get(self.dim).map_or(1, ExactSizeIterator::len));
        let uses = self.entries.entry(self.start(view)).or_default();
        uses.retain(|(v, u)| new.write || u.write || u.lane != new.lane || v != view || may_overlap(u.task));
        uses.push((view.clone(), new));
    }

    fn start(&self, view: &View) -> usize {
        view.bounds.get(self.dim).map_or(0, |range| range.start)
    }

    /// The range of starts (along `dim`) of boxes that overlap `view`.
    fn reach(&self, view: &View) -> std::ops::Range<usize> {
        let (start, end) = view.bounds.get(self.dim).map_or((0, 1), |range| (range.start, range.end));
        start.saturating_sub(self.longest)..end.max(start + 1)
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
                self.entries.entry(self.start(&view)).or_default().push((view, used));
            }
        }
    }
}

fn first_length(entries: &BTreeMap<usize, Vec<(View, Use)>>, dim: usize) -> usize {
    entries.values().flatten().map(|(view, _)| view.bounds[dim].len()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
