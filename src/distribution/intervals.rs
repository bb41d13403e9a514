//! Sets of indices of one dimension, as half-open intervals.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// Sorted, disjoint, nonempty, nonadjacent intervals. A single one, as in most sets, is inline.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Intervals(List);

type List = SmallVec<[Range<usize>; 1]>;

impl From<Range<usize>> for Intervals {
    fn from(range: Range<usize>) -> Intervals {
        Intervals(if range.is_empty() { List::new() } else { smallvec![range] })
    }
}

impl Intervals {
    /// The indices in `ranges`.
    ///
    /// # Panics
    /// If the ranges are not in ascending order, or not disjoint.
    pub fn ascending(ranges: impl IntoIterator<Item = Range<usize>>) -> Intervals {
        let mut joined = List::new();
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            match joined.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                last => {
                    assert!(last.is_none_or(|last| last.end < range.start), "ranges ascend");
                    joined.push(range);
                }
            }
        }
        joined.shrink_to_fit();
        Intervals(joined)
    }

    /// The number of indices.
    pub fn len(&self) -> usize {
        self.0.iter().map(Range::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }

    /// From the first index to the last.
    pub(crate) fn span(&self) -> Range<usize> {
        self.0.first().zip(self.0.last()).map_or(0..0, |(first, last)| first.start..last.end)
    }

    /// The indices in both sets. Cost: O(total number of intervals).
    pub fn intersect(&self, other: &Intervals) -> Intervals {
        let (mut a, mut b, mut both) = (0, 0, List::new());
        while let (Some(x), Some(y)) = (self.0.get(a), other.0.get(b)) {
            let common = x.start.max(y.start)..x.end.min(y.end);
            if !common.is_empty() {
                both.push(common);
            }
            if x.end < y.end { a += 1 } else { b += 1 }
        }
        Intervals(both)
    }

    /// Whether the sets have an index in common. Cost: O(total number of intervals).
    pub fn meets(&self, other: &Intervals) -> bool {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            if x.start.max(y.start) < x.end.min(y.end) {
                return true;
            }
            if x.end < y.end {
                a.next()
            } else {
                b.next()
            };
        }
        false
    }

    /// The positions of `run` within this set; `None` unless inside a single interval.
    pub fn locate(&self, run: &Range<usize>) -> Option<Range<usize>> {
        let mut before = 0;
        for range in &self.0 {
            if range.start <= run.start && run.end <= range.end {
                let start = before + run.start - range.start;
                return Some(start..start + run.len());
            }
            before += range.len();
        }
        run.is_empty().then_some(0..0)
    }

    /// The indices at these positions.
    pub fn select(&self, positions: &Range<usize>) -> Intervals {
        select(self, std::slice::from_ref(positions))
    }

    pub fn select_all(&self, positions: &Intervals) -> Intervals {
        select(self, &positions.0)
    }

    /// The positions of `of` within this set; `None` unless contiguous and all in it.
    pub fn positions(&self, of: &Intervals) -> Option<Range<usize>> {
        let (Some(first), Some(last)) = (of.0.first(), of.0.last()) else { return Some(0..0) };
        let start = self.locate(&(first.start..first.start + 1))?.start;
        let end = self.locate(&(last.end - 1..last.end))?.end;
        (end - start == of.len() && self.select(&(start..end)) == *of).then_some(start..end)
    }
}

fn select(of: &Intervals, positions: &[Range<usize>]) -> Intervals {
    if let ([all], [wanted]) = (of.ranges(), positions) {
        return Intervals::from(all.start + wanted.start..all.end.min(all.start + wanted.end));
    }
    let mut chosen = Vec::with_capacity(positions.len());
    let mut ranges = of.ranges().iter();
    let (mut before, mut current) = (0, ranges.next());
    for wanted in positions {
        let mut start = wanted.start;
        while let Some(range) = current.filter(|_| start < wanted.end) {
            let end = before + range.len();
            if start < end {
                let stop = wanted.end.min(end);
                chosen.push(range.start + start - before..range.start + stop - before);
                start = stop;
            }
            if start >= end {
                (before, current) = (end, ranges.next());
            }
        }
    }
    Intervals::ascending(chosen)
}

#[cfg(test)]
mod tests;
