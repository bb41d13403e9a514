//! Runs of consecutive ranks whose blocks have equal extents.

use std::ops::Range;

use super::{Axis, Cut, Distribution};

/// The runs of a grid without gaps between its ranks. In other grids, each rank is a run.
pub(crate) struct Alike {
    span: Range<usize>,
    /// Consecutive places whose blocks have equal extents.
    run: usize,
    /// The coordinates along the next slower axis, and how many of them have the larger tile.
    uneven: Option<(usize, usize)>,
}

impl Distribution {
    /// The runs of blocks of equal extents. Cost: O(axes^2).
    pub(crate) fn alike(&self, shape: &[usize]) -> Alike {
        let mut alike = Alike { span: self.span(), run: 1, uneven: None };
        let Some((_, strides)) = self.strides().filter(|_| alike.span.len() == self.places()) else { return alike };
        // Without gaps, strides are the numbers of places along faster axes.
        let mut axes: Vec<(usize, &Axis)> =
            strides.into_iter().zip(self.axes()).filter(|(_, axis)| axis.ranks > 1).collect();
        axes.sort_unstable_by_key(|(stride, _)| *stride);
        for (_, axis) in axes {
            if let Some((dim, cut)) = axis.cut() {
                let cuts = || self.axes().iter().filter(move |other| other.cut_dim() == Some(dim));
                let parts: usize = cuts().map(|other| other.ranks).product();
                let even = cuts().all(|other| matches!(other.cut(), Some((_, Cut::Even))));
                let larger = shape[dim] % parts;
                if !even || larger > 0 {
                    let alone = *cut == Cut::Even && parts == axis.ranks;
                    alike.uneven = Some((axis.ranks, larger)).filter(|_| alone && larger > 0);
                    break;
                }
            }
            alike.run *= axis.ranks;
        }
        alike
    }
}

impl Alike {
    /// A later rank, such that all before it from `rank` on have blocks of the same extents, or none.
    pub(crate) fn until(&self, rank: usize) -> usize {
        let Some(place) = rank.checked_sub(self.span.start) else { return self.span.start };
        if rank >= self.span.end {
            return usize::MAX;
        }
        let runs = self.uneven.map_or(1, |(ranks, larger)| {
            let coordinate = place / self.run % ranks;
            if coordinate < larger { larger - coordinate } else { ranks - coordinate }
        });
        rank - place % self.run + runs * self.run
    }
}
