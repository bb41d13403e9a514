//! The rank at each place of a grid.

use serde::{Deserialize, Serialize};

/// The rank at each place. `axes` are the extents of the grid, slowest first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owners {
    /// Consecutive ranks in row-major order from this one.
    From(usize),
    /// These distinct ranks, in row-major order.
    Listed(Vec<usize>),
    /// One stride per axis: the rank is the sum of coordinates times strides.
    Strided(Vec<usize>),
}

impl Default for Owners {
    fn default() -> Owners {
        Owners::From(0)
    }
}

impl Owners {
    /// The rank at these coordinates.
    ///
    /// # Panics
    /// If the list of ranks has no entry for this place.
    pub fn rank(&self, axes: &[usize], coordinates: &[usize]) -> usize {
        let place = || axes.iter().zip(coordinates).fold(0, |place, (axis, coordinate)| place * axis + coordinate);
        match self {
            Owners::From(first) => first + place(),
            Owners::Listed(ranks) => ranks[place()],
            Owners::Strided(strides) => strides.iter().zip(coordinates).map(|(stride, at)| stride * at).sum(),
        }
    }

    /// Adds `to - from` to every rank, unless one would be negative or overflow.
    pub(super) fn moved(&self, axes: &[usize], from: usize, to: usize) -> Option<Owners> {
        let place = |rank: usize| (rank.checked_add(to)?).checked_sub(from);
        match self {
            same if from == to => Some(same.clone()),
            Owners::From(first) => place(*first).map(Owners::From),
            Owners::Listed(ranks) => ranks.iter().map(|&rank| place(rank)).collect::<Option<_>>().map(Owners::Listed),
            Owners::Strided(_) => {
                let places = 0..axes.iter().product::<usize>();
                let ranks = places.filter_map(|at| Owners::From(0).coordinates(axes, at));
                let ranks = ranks.map(|coordinates| place(self.rank(axes, &coordinates)));
                ranks.collect::<Option<_>>().map(Owners::Listed)
            }
        }
    }

    /// The coordinates of a rank in the grid. Cost: O(axes), and O(places) for an irregular list.
    pub fn coordinates(&self, axes: &[usize], rank: usize) -> Option<Vec<usize>> {
        let places = places(axes).unwrap_or(usize::MAX);
        let mut rest = match self {
            Owners::From(first) => rank.checked_sub(*first).filter(|&place| place < places)?,
            Owners::Listed(ranks) => {
                let ranks = &ranks[..places.min(ranks.len())];
                strided_place(axes, ranks, rank).or_else(|| ranks.iter().position(|&owner| owner == rank))?
            }
            Owners::Strided(strides) => {
                let at =
                    axes.iter().zip(strides).map(|(&axis, &stride)| if axis == 1 { 0 } else { rank / stride % axis });
                let coordinates: Vec<usize> = at.collect();
                return (self.rank(axes, &coordinates) == rank).then_some(coordinates);
            }
        };
        let mut coordinates = vec![0; axes.len()];
        for (coordinate, axis) in coordinates.iter_mut().zip(axes).rev() {
            *coordinate = rest % axis;
            rest /= axis;
        }
        Some(coordinates)
    }

    pub(super) fn start(&self) -> usize {
        match self {
            Owners::From(first) => *first,
            Owners::Listed(ranks) => ranks.iter().copied().min().unwrap_or(0),
            Owners::Strided(_) => 0,
        }
    }

    /// One more than the largest rank, or `None` on overflow.
    pub fn end(&self, axes: &[usize]) -> Option<usize> {
        let places = places(axes)?;
        match self {
            Owners::From(first) => first.checked_add(places),
            Owners::Listed(ranks) => ranks.iter().take(places).max().map_or(Some(0), |rank| rank.checked_add(1)),
            Owners::Strided(strides) => axes
                .iter()
                .zip(strides)
                .try_fold(1usize, |end, (axis, stride)| end.checked_add(axis.saturating_sub(1).checked_mul(*stride)?)),
        }
    }

    /// Whether each place has a distinct rank.
    pub fn fits(&self, axes: &[usize]) -> bool {
        match self {
            Owners::From(_) => true,
            Owners::Listed(ranks) => {
                let mut sorted = ranks.clone();
                sorted.sort_unstable();
                places(axes) == Some(ranks.len()) && sorted.windows(2).all(|pair| pair[0] != pair[1])
            }
            Owners::Strided(strides) => {
                let mut some: Vec<(usize, usize)> = strides.iter().copied().zip(axes.iter().copied()).collect();
                some.retain(|&(_, axis)| axis > 1);
                some.sort_unstable();
                // Ranks are distinct if each stride is a multiple of the next smaller stride times its axis's extent.
                let disjoint = |pair: &[(usize, usize)]| {
                    pair[0].0.checked_mul(pair[0].1).is_some_and(|span| pair[1].0.is_multiple_of(span))
                };
                strides.len() == axes.len()
                    && some.iter().all(|&(stride, _)| stride > 0)
                    && some.windows(2).all(disjoint)
            }
        }
    }
}

pub(super) fn places(axes: &[usize]) -> Option<usize> {
    // An axis without coordinates must not hide an overflow.
    axes.iter().try_fold(1usize, |places, &axis| places.checked_mul(axis.max(1)))?;
    Some(axes.iter().product())
}

/// The place of `rank`, if a moved strided grid is listed.
fn strided_place(axes: &[usize], ranks: &[usize], rank: usize) -> Option<usize> {
    let (offset, mut place, mut size) = (rank.checked_sub(*ranks.first()?)?, 0, 1);
    for &axis in axes.iter().rev().filter(|&&axis| axis > 1) {
        let stride = ranks.get(size)?.checked_sub(ranks[0]).filter(|&stride| stride > 0)?;
        place += offset / stride % axis * size;
        size *= axis;
    }
    (ranks.get(place) == Some(&rank)).then_some(place)
}
