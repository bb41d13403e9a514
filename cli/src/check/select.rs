//! Selects each label's indices for a comparison, and cuts selections into pieces.
//!
//! Invariant: a selection has indices for every label of the tree. An index's place is its position in the selection,
//! from 0.

use std::ops::Range;

use einsum_dist::dims::Label;
use einsum_dist::distribution::Intervals;

/// The runs of consecutive indices, each with its first index's place.
pub fn runs(indices: &Intervals) -> impl Iterator<Item = (usize, Range<usize>)> + Clone {
    indices.ranges().iter().scan(0, |place, run| {
        let first = *place;
        *place += run.len();
        Some((first, run.clone()))
    })
}

#[derive(Debug, Clone)]
pub struct Selection(pub Vec<Intervals>);

impl Selection {
    pub fn of(&self, label: Label) -> &Intervals {
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
            part.0[label.0 as usize] = self.of(*label).select(&(start..start + size));
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
