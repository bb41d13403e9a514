//! Selects each label's indices for a comparison, and cuts selections into pieces.
//!
//! Invariant: a selection has indices for every label of the tree. An index's place is its position in the selection,
//! from 0.

use std::ops::Range;

use einsum_dist::dims::Label;

/// A label's indices, as runs of consecutive ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Indices {
    runs: Vec<Range<usize>>,
}

impl From<Range<usize>> for Indices {
    fn from(range: Range<usize>) -> Indices {
        Indices { runs: if range.is_empty() { Vec::new() } else { vec![range] } }
    }
}

impl Indices {
    pub fn listed(ascending: impl IntoIterator<Item = usize>) -> Indices {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for index in ascending {
            match runs.last_mut() {
                Some(run) if run.end == index => run.end += 1,
                _ => runs.push(index..index + 1),
            }
        }
        Indices { runs }
    }

    pub fn len(&self) -> usize {
        self.runs.iter().map(ExactSizeIterator::len).sum()
    }

    /// The runs, each with its first index's place.
    pub fn runs(&self) -> impl Iterator<Item = (usize, Range<usize>)> + Clone {
        self.runs.iter().scan(0, |place, run| {
            let first = *place;
            *place += run.len();
            Some((first, run.clone()))
        })
    }

    pub fn within(&self, range: &Range<usize>) -> Indices {
        let inside = self.runs.iter().map(|run| run.start.max(range.start)..run.end.min(range.end));
        Indices { runs: inside.filter(|run| !run.is_empty()).collect() }
    }

    fn part(&self, places: &Range<usize>) -> Indices {
        let part = self.runs().map(|(first, run)| {
            let [start, end] =
                [places.start, places.end].map(|place| run.start + place.clamp(first, first + run.len()) - first);
            start..end
        });
        Indices { runs: part.filter(|run| !run.is_empty()).collect() }
    }
}

#[derive(Debug, Clone)]
pub struct Selection(pub Vec<Indices>);

impl Selection {
    pub fn of(&self, label: Label) -> &Indices {
        &self.0[label.0 as usize]
    }

    pub fn len(&self, label: Label) -> usize {
        self.of(label).len()
    }

    /// Cuts along `labels` into parts of at most `sizes[l]` indices of label `l`.
    pub fn cuts(&self, labels: &[Label], sizes: &[usize]) -> Cuts {
        let cut = |&label: &Label| Cut { label, size: sizes[label.0 as usize].clamp(1, self.len(label).max(1)) };
        let cuts = labels.iter().map(cut).filter(|cut| cut.size < self.len(cut.label));
        Cuts(cuts.map(|cut| (cut, self.len(cut.label).div_ceil(cut.size))).collect())
    }

    /// Part `number`, the last label varying fastest.
    pub fn part(&self, cuts: &Cuts, mut number: usize) -> Selection {
        let mut part = self.clone();
        for (Cut { label, size }, count) in cuts.0.iter().rev() {
            let start = number % count * size;
            number /= count;
            part.0[label.0 as usize] = self.of(*label).part(&(start..start + size));
        }
        part
    }
}

#[derive(Debug, Clone)]
pub struct Cuts(Vec<(Cut, usize)>);

#[derive(Debug, Clone, Copy)]
struct Cut {
    label: Label,
    size: usize,
}

impl Cuts {
    pub fn count(&self) -> usize {
        self.0.iter().map(|(_, count)| count).fold(1, |all, &count| all.saturating_mul(count))
    }
}

#[cfg(test)]
mod tests;
