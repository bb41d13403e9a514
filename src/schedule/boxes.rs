//! A map from boxes of one array to values, which finds all that overlap another box.
//!
//! Boxes are in lexicographic order of their bounds. A search skips boxes that share their first bounds once these do
//! not overlap. If a dimension is cut alike in all boxes, it visits about as many boxes as it finds.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::distribution::Bounds;

/// Start and end along each dimension.
type Key = Vec<[usize; 2]>;

#[derive(Debug)]
pub struct BoxMap<T> {
    boxes: BTreeMap<Key, T>,
    /// The largest extent of any box so far, by dimension.
    longest: Vec<usize>,
}

impl<T> Default for BoxMap<T> {
    fn default() -> BoxMap<T> {
        BoxMap { boxes: BTreeMap::new(), longest: Vec::new() }
    }
}

impl<T> BoxMap<T> {
    pub fn overlapping<'a>(&'a self, bounds: &'a [Range<usize>]) -> impl Iterator<Item = (Bounds, &'a T)> {
        self.found(bounds).map(|(key, value)| (key.iter().map(|&[start, end]| start..end).collect(), value))
    }

    /// Like [`BoxMap::overlapping`], without bounds.
    pub fn values<'a>(&'a self, bounds: &'a [Range<usize>]) -> impl Iterator<Item = &'a T> {
        self.found(bounds).map(|(_, value)| value)
    }

    fn found<'a>(&'a self, bounds: &'a [Range<usize>]) -> impl Iterator<Item = (&'a Key, &'a T)> {
        let mut rest = self.boxes.range::<Key, _>(..);
        std::iter::from_fn(move || {
            loop {
                let (key, value) = rest.next()?;
                let Some(next) = self.next_candidate(key, bounds) else { return Some((key, value)) };
                rest = self.boxes.range(next..);
            }
        })
    }

    /// `None` if the box overlaps `bounds`, else the least key of later boxes that may.
    fn next_candidate(&self, key: &Key, bounds: &[Range<usize>]) -> Option<Key> {
        let meets =
            |(&[start, end], bounds): (&[usize; 2], &Range<usize>)| start.max(bounds.start) < end.min(bounds.end);
        let dim = key.iter().zip(bounds).position(|pair| !meets(pair))?;
        let mut next = key[..dim].to_vec();
        let [start, end] = key[dim];
        if start < bounds[dim].end {
            let earliest = bounds[dim].start.saturating_sub(self.longest[dim].saturating_sub(1));
            next.push([earliest, 0].max([start, end + 1]));
        } else {
            match next.last_mut() {
                Some([_, end]) => *end += 1,
                None => next.push([usize::MAX; 2]),
            }
        }
        Some(next)
    }

    /// The value of exactly this box.
    pub fn entry(&mut self, bounds: &[Range<usize>]) -> &mut T
    where
        T: Default,
    {
        self.longest.resize(bounds.len(), 0);
        self.longest.iter_mut().zip(bounds).for_each(|(longest, range)| *longest = range.len().max(*longest));
        self.boxes.entry(key(bounds)).or_default()
    }

    /// Changes the values of boxes that overlap `bounds`, and removes those for which `keep` returns false.
    pub fn retain(&mut self, bounds: &[Range<usize>], mut keep: impl FnMut(&[[usize; 2]], &mut T) -> bool) {
        let found: Vec<Key> = self.found(bounds).map(|(key, _)| key.clone()).collect();
        for key in found {
            if self.boxes.get_mut(&key).is_some_and(|value| !keep(&key, value)) {
                self.boxes.remove(&key);
            }
        }
    }
}

fn key(bounds: &[Range<usize>]) -> Key {
    bounds.iter().map(|range| [range.start, range.end]).collect()
}

#[cfg(test)]
mod tests;
