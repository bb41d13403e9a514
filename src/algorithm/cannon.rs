//! `cannon`: a square grid of ranks; both operands are cut along k and shifted past out, which stays.
//!
//! Source: L. E. Cannon, A Cellular Computer to Implement the Kalman Filter Algorithm (1969); CSDS 451, lecture 21.
//! Extents need not be divisible by s.
//!
//! ```text
//! mk,kn->mn on 2 x 2 ranks, rank 1 = (0, 1) has left [m0, k1] and right [k0, n1]; row i begins with k (i + j) mod 2
//!   skew      right [k1, n1] from rank 3 = (1, 1); left [m0, k1] is its own
//!   step 0    out  = left [m0, k1] right [k1, n1]
//!   shift     left [m0, k0] from rank 0, right [k0, n1] from rank 3
//!   step 1    out += left [m0, k0] right [k0, n1]
//! ```
//!
//! On s x s ranks, a rank first receives one block of each operand, unless it already holds the right one, and then s -
//! 1 more of each, one step ahead of the products. Blocks travel only left and up, so links to neighbours suffice:
//! blocks that [`super::grid`] gets from s - 1 ranks come from one neighbour here. Deliberately absent: grids that are
//! not square.

use super::contraction::{Contraction, Tensor, contract, corner};
use crate::dims::Label;
use crate::distribution::{Axis, Bounds, Cut, Distribution, Intervals, Region, Role, tile_bounds};
use crate::schedule::verify::Summand;
use crate::schedule::{Accumulate, BufferId, Builder, View};

/// The distribution of a tensor on a grid of `side` x `side` ranks, cut along two of its dimensions.
pub fn squares(labels: &[Label], [first, second]: [Label; 2], side: usize) -> Distribution {
    let axis = |label: Label| {
        let dim = labels.iter().position(|&l| l == label);
        let dim = dim.unwrap_or_else(|| panic!("the tensor has the dimension that it is cut along"));
        Axis { ranks: side, role: Role::Cut { dim, how: Cut::Even } }
    };
    Distribution::new(vec![axis(first), axis(second)])
}

/// One operand as it is shifted past this rank.
struct Shifting<'a> {
    tensor: &'a Tensor,
    /// The rank whose block this rank contracts, by step.
    owners: Vec<usize>,
    /// The rank that sends the block of the next step to this one, and the rank that this one sends its current block
    /// to.
    from: usize,
    to: usize,
    /// Alternating buffers for blocks of other ranks.
    slots: Vec<BufferId>,
}

impl<'a> Shifting<'a> {
    fn new(builder: &mut Builder, tensor: &'a Tensor, owners: Vec<usize>, [from, to]: [usize; 2]) -> Shifting<'a> {
        let largest = tensor.distribution.largest_block(&tensor.shape);
        let others = owners.len() - usize::from(owners[0] == builder.rank());
        let slots = (0..others.min(2)).map(|_| tensor.scratch(builder, largest.clone())).collect();
        Shifting { tensor, owners, from, to, slots }
    }

    /// The block of a step: in place if this rank begins with its own block.
    fn at(&self, rank: usize, step: usize) -> Option<View> {
        if step == 0 && self.owners[0] == rank {
            return self.tensor.own(rank, &[]);
        }
        let block: Bounds = self.tensor.block(self.owners[step]);
        Some(corner(*self.slots.get(step % self.slots.len().max(1))?, &block))
    }

    /// Receives the first block from its owner, and sends this rank's block to `takes`, the rank that begins with it.
    fn skew(&self, builder: &mut Builder, takes: usize) {
        let rank = builder.rank();
        if takes != rank {
            builder.send(takes, self.tensor.own(rank, &[]).into_iter().collect());
        }
        if self.owners[0] != rank {
            builder.recv(self.owners[0], self.at(rank, 0).into_iter().collect());
        }
    }

    /// Sends the current block, and receives the block of the next step.
    fn shift(&self, builder: &mut Builder, step: usize) {
        let rank = builder.rank();
        builder.send(self.to, self.at(rank, step).into_iter().collect());
        builder.recv(self.from, self.at(rank, step + 1).into_iter().collect());
    }
}

/// Appends this rank's tasks.
pub fn cannon(builder: &mut Builder, contraction: &Contraction, side: usize) {
    let rank = builder.rank();
    let Contraction { left, right, out, onto } = contraction;
    let Some(target) = out.own(rank, &[]).filter(|_| rank < side * side) else { return };
    let (row, column) = (rank / side, rank % side);
    let at = |row: usize, column: usize| row % side * side + column % side;
    let tiles = (0..side).map(|step| (row + column + step) % side);
    let lefts = tiles.clone().map(|tile| at(row, tile)).collect();
    let rights = tiles.map(|tile| at(tile, column)).collect();
    let left = Shifting::new(builder, left, lefts, [at(row, column + 1), at(row, column + side - 1)]);
    let right = Shifting::new(builder, right, rights, [at(row + 1, column), at(row + side - 1, column)]);
    left.skew(builder, at(row, column + side - row));
    right.skew(builder, at(row + side - column, column));
    for step in 0..side {
        if step + 1 < side {
            left.shift(builder, step);
            right.shift(builder, step);
        }
        let accumulate = match (step, onto) {
            (0, true) => Accumulate::Beta,
            (0, false) => Accumulate::Overwrite,
            _ => Accumulate::Add,
        };
        if let (Some(left), Some(right)) = (left.at(rank, step), right.at(rank, step)) {
            contract(builder, left, right, target.clone(), accumulate);
        }
    }
}

/// By rank, the order in which summands are added: tile by tile of `cut`, cyclically from tile (row + column) mod
/// `side`.
pub fn order(contraction: &Contraction, cut: Label, side: usize, ranks: usize) -> Vec<Vec<Summand>> {
    let Contraction { left, out, .. } = contraction;
    let summed: Vec<(Label, usize)> = left
        .labels
        .iter()
        .zip(&left.shape)
        .filter(|(label, _)| !out.labels.contains(label))
        .map(|(&label, &extent)| (label, extent))
        .collect();
    let meets = |rank: usize| -> Vec<Summand> {
        let Some(of) = out.distribution.block(&out.shape, rank) else { return Vec::new() };
        let tiles = (0..side).map(|step| (rank / side + rank % side + step) % side);
        let products = |tile: usize| {
            let dims = summed.iter().map(|&(label, extent)| {
                Intervals::from(if label == cut { tile_bounds(extent, side, tile) } else { 0..extent })
            });
            Region::from(dims.collect::<Vec<_>>())
        };
        tiles.map(|tile| Summand { of: of.clone(), products: products(tile) }).collect()
    };
    (0..ranks).map(meets).collect()
}
