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
    /// The rank is `first` plus the sum of coordinates times `strides`, one per axis.
    Strided {
        /// The rank at the origin.
        first: usize,
        /// Positive, except along axes of one rank.
        strides: Vec<usize>,
    },
}

impl Default for Owners {
    fn default() -> Owners {
        Owners::From(0)
    }
}

impl Owners {
    pub(super) fn rank(&self, axes: impl Iterator<Item = usize>, coordinates: &[usize]) -> usize {
        let place = || axes.zip(coordinates).fold(0, |place, (axis, coordinate)| place * axis + coordinate);
        match self {
            Owners::From(first) => first + place(),
            Owners::Listed(ranks) => ranks[place()],
            Owners::Strided { first, strides } => {
                first + strides.iter().zip(coordinates).map(|(stride, at)| stride * at).sum::<usize>()
            }
        }
    }

    /// Adds `to - from` to every rank, unless one would be negative or overflow.
    pub(super) fn moved(&self, from: usize, to: usize) -> Option<Owners> {
        let place = |rank: usize| (rank.checked_add(to)?).checked_sub(from);
        Some(match self {
            Owners::From(first) => Owners::From(place(*first)?),
            Owners::Listed(ranks) => Owners::Listed(ranks.iter().map(|&rank| place(rank)).collect::<Option<_>>()?),
            Owners::Strided { first, strides } => Owners::Strided { first: place(*first)?, strides: strides.clone() },
        })
    }

    /// [`Owners::From`] if the strides are row-major.
    pub(crate) fn strided(first: usize, strides: Vec<usize>, axes: &[usize]) -> Owners {
        if strides == row_major(axes) { Owners::From(first) } else { Owners::Strided { first, strides } }
    }

    pub(super) fn start(&self) -> usize {
        match self {
            Owners::From(first) | Owners::Strided { first, .. } => *first,
            Owners::Listed(ranks) => ranks.iter().copied().min().unwrap_or(0),
        }
    }

    /// One more than the largest rank, or `None` on overflow.
    pub(super) fn end(&self, axes: &[usize]) -> Option<usize> {
        let places = places(axes)?;
        match self {
            Owners::From(first) => first.checked_add(places),
            Owners::Listed(ranks) => ranks.iter().take(places).max().map_or(Some(0), |rank| rank.checked_add(1)),
            Owners::Strided { first, strides } => {
                axes.iter().zip(strides).try_fold(first.checked_add(1)?, |end, (axis, stride)| {
                    end.checked_add(axis.saturating_sub(1).checked_mul(*stride)?)
                })
            }
        }
    }

    /// Whether each place has a distinct rank.
    pub(crate) fn fits(&self, axes: &[usize]) -> bool {
        match self {
            Owners::From(_) => true,
            Owners::Listed(ranks) => {
                let mut sorted = ranks.clone();
                sorted.sort_unstable();
                places(axes) == Some(ranks.len()) && sorted.windows(2).all(|pair| pair[0] != pair[1])
            }
            Owners::Strided { strides, .. } => {
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

pub(super) fn row_major(axes: &[usize]) -> Vec<usize> {
    (1..=axes.len()).map(|next| axes[next..].iter().product()).collect()
}
