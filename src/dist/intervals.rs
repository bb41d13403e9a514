//! Unions of half-open intervals along one dimension.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A set of indices of one dimension. Invariant: the intervals are sorted, disjoint, not empty, and do not touch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Intervals(Vec<Range<usize>>);

impl From<Range<usize>> for Intervals {
    fn from(range: Range<usize>) -> Intervals {
        Intervals(if range.is_empty() { Vec::new() } else { vec![range] })
    }
}

impl Intervals {
    /// How many indices there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(Range::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The intervals in ascending order.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }

    /// The indices in both sets. Cost: linear in the number of intervals.
    pub fn intersect(&self, other: &Intervals) -> Intervals {
        let (mut a, mut b, mut both) = (0, 0, Vec::new());
        while let (Some(x), Some(y)) = (self.0.get(a), other.0.get(b)) {
            let common = x.start.max(y.start)..x.end.min(y.end);
            if !common.is_empty() {
                both.push(common);
            }
            if x.end < y.end { a += 1 } else { b += 1 }
        }
        Intervals(both)
    }

    /// Where a run of indices lies when the set is stored densely in ascending order; `None` unless one interval holds
    /// all of it.
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
}
