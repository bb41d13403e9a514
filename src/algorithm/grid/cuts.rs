//! A grid of ranks over a contraction's dimensions, and the distributions of its tensors.
//!
//! Invariant: ranks that need the same tile of a tensor store different parts of it, so no element is stored twice,
//! except in replicated operands, which have at most one element per rank.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::dims::Label;
use crate::distribution::{Axis, Cut, Distribution, Owners, Role, tile_bounds};
use crate::schedule::collective::CollectiveAlgorithm;

/// The coordinate along the last cut varies fastest; ranks outside the grid are idle.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grid {
    /// A further cut of a dimension divides each of its tiles, as in [`Distribution`].
    pub cuts: Vec<(Label, usize)>,
    /// Consecutive ranks to which another rank's part of an operand is sent only once, to be forwarded by the one with
    /// the same position among them. 1 if nobody forwards. A multiple of the stride of some cut, with a quotient that
    /// divides the cut's ranks.
    pub node: usize,
    /// For `left`, `right` and `out`, the cuts along which ranks divide a common tile; along any other cut of a
    /// dimension that the tensor lacks, the first rank stores all of it.
    pub shared: [Vec<Sharing>; 3],
    /// Approximate; rounds of receiving operands end where stored parts do, if possible.
    pub rounds: usize,
    /// Buffers per operand, one of which is contracted while the others receive.
    pub slots: usize,
    /// Messages with a rank's partial sums for another rank's part of `out`.
    pub pieces: usize,
    /// Whether a rank sums its own part in its block of `out`, to save memory.
    pub in_place: bool,
    /// Of the reduce-scatter: direct messages, or a ring through nodes of several ranks.
    #[serde(rename = "way")]
    pub algorithm: CollectiveAlgorithm,
}

/// How the ranks along one cut divide a tile that lacks its dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sharing {
    /// The dimension, and the number of its cuts before this one.
    pub cut: (Label, usize),
    /// That of `cut`, which the tensor lacks, if all ranks store the whole tensor.
    pub along: Label,
    /// Several sharings of a cut multiply to its ranks; the last varies fastest.
    pub ranks: usize,
}

impl Grid {
    pub fn ranks(&self) -> usize {
        self.cuts.iter().map(|&(_, parts)| parts).product()
    }

    /// One grid for every order of the cuts, itself first; only itself above four cuts. Not for dimensions cut twice.
    pub fn orders(&self) -> Vec<Grid> {
        let mut orders: Vec<Vec<(Label, usize)>> = vec![Vec::new()];
        if self.cuts.len() > 4 {
            return vec![self.clone()];
        }
        for cut in &self.cuts {
            let longer = |order: &[_], at| [&order[..at], &[*cut], &order[at..]].concat();
            let all = orders.iter().flat_map(|order| (0..=order.len()).rev().map(|at| longer(order, at)));
            orders = all.collect();
        }
        orders.into_iter().map(|cuts| Grid { cuts, ..self.clone() }).collect()
    }

    /// Cuts of dimensions that a tensor lacks, or has, as `lacking` says.
    fn levels(&self, labels: &[Label], lacking: bool) -> impl Iterator<Item = Level> {
        levels(&self.cuts).filter(move |level| labels.contains(&level.cut.0) != lacking)
    }

    pub fn tile(&self, rank: usize, label: Label, extent: usize) -> Range<usize> {
        self.levels(&[label], false).fold(0..extent, |tile, level| part(&tile, level.parts, level.at(rank)))
    }

    /// The interval of `along`, which has `extent` indices, in a rank's block of an operand.
    pub fn held(&self, operand: usize, labels: &[Label], (along, extent): (Label, usize), rank: usize) -> Range<usize> {
        if self.replicates(operand) {
            return 0..extent;
        }
        let mut held = self.tile(rank, along, extent);
        for level in self.levels(labels, true) {
            let mut slower: usize = self.sharings(operand, level.cut).map(|sharing| sharing.ranks).product();
            let at = level.at(rank);
            if at >= slower {
                return 0..0;
            }
            for sharing in self.sharings(operand, level.cut) {
                slower /= sharing.ranks;
                if sharing.along == along {
                    held = part(&held, sharing.ranks, at / slower % sharing.ranks);
                }
            }
        }
        if held.is_empty() { 0..0 } else { held }
    }

    fn sharings(&self, tensor: usize, cut: (Label, usize)) -> impl Iterator<Item = &Sharing> {
        self.shared[tensor].iter().filter(move |sharing| sharing.cut == cut)
    }

    /// The ranks that need the same tile of a tensor as `rank`, ascending and including it.
    pub fn sharing(&self, labels: &[Label], rank: usize) -> Vec<usize> {
        let mut ranks = vec![rank];
        for level in self.levels(labels, true) {
            let (parts, stride) = (level.parts, level.stride);
            let first = |rank: usize| rank - level.at(rank) * stride;
            ranks = ranks.into_iter().flat_map(|rank| (0..parts).map(move |at| first(rank) + at * stride)).collect();
        }
        ranks.sort_unstable();
        ranks
    }

    /// The rank from which `to` receives the part of `of`, if both need the same tile of an operand.
    pub fn source(&self, of: usize, to: usize) -> usize {
        let forwarding = to - to % self.node + of % self.node;
        if forwarding == to { of } else { forwarding }
    }

    /// The first rank of a node that needs the same tile as `rank`.
    pub fn first_on_node(&self, labels: &[Label], rank: usize) -> usize {
        self.levels(labels, true).fold(rank, |rank, level| {
            let inside = level.parts.min(self.node / level.stride).max(1);
            rank - level.at(rank) % inside * level.stride
        })
    }

    /// The ranks between which an operand's tiles, or summands of `out`, are sent. `tensor` is 0, 1 or 2 for `left`,
    /// `right` and `out`.
    pub fn exchanging(&self, tensor: usize, labels: &[Label], rank: usize) -> Vec<usize> {
        if self.replicates(tensor) { vec![rank] } else { self.sharing(labels, rank) }
    }

    /// Whether ranks divide a tile along `along`. `tensor` is as in [`Grid::exchanging`].
    pub fn shares_along(&self, tensor: usize, along: Label) -> bool {
        self.shared[tensor].iter().any(|sharing| sharing.along == along)
    }

    /// Whether each rank stores the whole tensor.
    pub fn replicates(&self, tensor: usize) -> bool {
        self.shared[tensor].first().is_some_and(|sharing| sharing.along == sharing.cut.0)
    }

    /// `tensor` is as in [`Grid::exchanging`].
    pub fn distribution(&self, labels: &[Label], tensor: usize) -> Distribution {
        if self.replicates(tensor) {
            return Distribution::replicated(self.ranks());
        }
        self.distribution_with(labels, |level| {
            self.sharings(tensor, level.cut)
                .filter_map(|part| Some((labels.iter().position(|&l| l == part.along).map(even)?, part.ranks)))
                .collect()
        })
    }

    /// The distribution of `out` before the reduce-scatter.
    pub fn summands(&self, labels: &[Label]) -> Distribution {
        self.distribution_with(labels, |level| vec![(Role::Partial, level.parts)])
    }

    fn distribution_with(&self, labels: &[Label], others: impl Fn(&Level) -> Vec<(Role, usize)>) -> Distribution {
        let mut axes = Vec::new();
        for Level { cut, parts: ranks, stride } in self.levels(labels, false).filter(|level| level.parts > 1) {
            if let Some(dim) = labels.iter().position(|&l| l == cut.0) {
                axes.push((Axis { ranks, role: even(dim) }, stride));
            }
        }
        for level in self.levels(labels, true).filter(|level| level.parts > 1) {
            let parts = others(&level);
            let mut slower: usize = parts.iter().map(|(_, ranks)| ranks).product();
            for (role, ranks) in parts {
                slower /= ranks;
                axes.push((Axis { ranks, role }, level.stride * slower));
            }
        }
        let (axes, strides): (Vec<Axis>, _) = axes.into_iter().unzip();
        let extents: Vec<usize> = axes.iter().map(|axis| axis.ranks).collect();
        Distribution::new(axes).owned_by(Owners::strided(0, strides, &extents))
    }
}

/// One cut of a dimension.
pub struct Level {
    /// As in [`Sharing::cut`].
    pub cut: (Label, usize),
    pub parts: usize,
    /// The difference of neighbours' rank numbers.
    pub stride: usize,
}

impl Level {
    fn at(&self, rank: usize) -> usize {
        rank / self.stride % self.parts
    }
}

pub fn levels(cuts: &[(Label, usize)]) -> impl Iterator<Item = Level> {
    let mut stride: usize = cuts.iter().map(|(_, parts)| parts).product();
    cuts.iter().enumerate().map(move |(at, &(label, parts))| {
        stride /= parts;
        Level { cut: (label, cuts[..at].iter().filter(|(cut, _)| *cut == label).count()), parts, stride }
    })
}

fn part(of: &Range<usize>, parts: usize, at: usize) -> Range<usize> {
    let part = tile_bounds(of.len(), parts, at);
    of.start + part.start..of.start + part.end
}

fn even(dim: usize) -> Role {
    Role::Cut { dim, how: Cut::Even }
}
