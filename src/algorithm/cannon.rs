//! `cannon`, on a square grid of ranks: `out` stays in place, and blocks of both operands are shifted.
//!
//! Source: L. E. Cannon, A Cellular Computer to Implement the Kalman Filter Algorithm (1969); CSDS 451, lecture 21.
//! Extents need not be divisible by the side s of the square.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::contraction::{Contraction, Tensor, contract, corner};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, Setting, cut, is};
use super::rank_count::RankCount;
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::{Bounds, Intervals, tile_bounds};
use crate::schedule::verify::{Order, Summand, Summands};
use crate::schedule::{Accumulate, BufferId, Builder, View};

/// `left` is cut along m and k, `right` along k and n, and `out` along m and n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cannon {
    pub m: Label,
    pub n: Label,
    pub k: Label,
    pub side: usize,
}

pub const RANKS: RankCount = RankCount::Square;

/// One for each m, n and k dimension; none if the number of ranks is not a square and ranks may not be idle.
pub fn candidates(setting: &Setting) -> Vec<Cannon> {
    let ranks = setting.ranks();
    if !RANKS.allows(ranks) && !setting.idle {
        return Vec::new();
    }
    let triples = setting.pairs().flat_map(|(m, n)| setting.kinds.k.iter().map(move |&k| (m, n, k)));
    triples.map(|(m, n, k)| Cannon { m, n, k, side: ranks.isqrt() }).collect()
}

impl Generator for Cannon {
    fn cuts(&self) -> Vec<Label> {
        vec![self.m, self.n, self.k]
    }

    fn grid(&self, _: usize) -> Vec<(Label, usize)> {
        vec![(self.m, self.side), (self.n, self.side)]
    }

    fn applies(&self, kinds: &Kinds) -> bool {
        is(kinds, self.m, &[Kind::M]) && is(kinds, self.n, &[Kind::N]) && is(kinds, self.k, &[Kind::K])
    }

    fn distributions(&self, [left, right, out]: [&[Label]; 3], _: usize) -> Option<Distributions> {
        let &Cannon { m, n, k, side } = self;
        Some(Distributions {
            left: cut(left, [(m, side), (k, side)]),
            right: cut(right, [(k, side), (n, side)]),
            out: cut(out, [(m, side), (n, side)]),
        })
    }

    fn order(&self, contraction: &Contraction, of: &[usize], _: usize) -> Order {
        Order::Listed(order(contraction, self.k, self.side, of))
    }

    /// The first row and column do not send their first blocks.
    fn role(&self, rank: usize) -> usize {
        usize::from(rank / self.side == 0) + 2 * usize::from(rank.is_multiple_of(self.side))
    }

    fn alike_until(&self, rank: usize) -> usize {
        rank + 1
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        cannon(builder, contraction, self.side);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        let (&Cannon { m, n, k, side }, cost) = (self, contracted.cost);
        let ([m, n, k], [a, b, c]) = ([m, n, k].map(|label| cost.tile(label, side)), contracted.elements);
        let (a, b, c) = (a * m * k, b * k * n, c * m * n);
        let compute = side as f64 * cost.product(contracted.multiply_adds * m * n * k, a + b + c);
        let block = cost.transfer(a) + cost.transfer(b);
        // The skew brings one block per operand, and each step except the last another.
        let skew = if side > 1 { block } else { 0.0 };
        skew + cost.overlapped(compute, (side as f64 - 1.0) * block)
    }

    fn words_received(&self, contraction: &Contraction, rank: usize, _: usize) -> Option<u64> {
        let &Cannon { m, n, k, side } = self;
        if rank >= side * side {
            return Some(0);
        }
        let (row, column) = (rank / side, rank % side);
        let length = |tensor: &Tensor, label: Label, at: usize| tile_bounds(tensor.extent(label), side, at).len();
        let steps = |tensor: &Tensor, (other, place): (Label, usize), first_is_own: bool| -> u64 {
            let of = |indices: usize| {
                tensor.elements_of(|label| match label {
                    _ if label == k => Some(indices),
                    _ if label == other => Some(length(tensor, other, place)),
                    _ => None,
                })
            };
            let (all, first) = (of(tensor.extent(k)), of(length(tensor, k, (row + column) % side)));
            all - if first_is_own { first } else { 0 }
        };
        let Contraction { left, right, .. } = contraction;
        Some(steps(left, (m, row), row == 0) + steps(right, (n, column), column == 0))
    }
}

struct ShiftedOperand<'a> {
    tensor: &'a Tensor,
    /// For each step, the owner of the contracted block.
    owners: Vec<usize>,
    from: usize,
    to: usize,
    /// Up to two buffers, which alternate.
    slots: Vec<BufferId>,
}

impl<'a> ShiftedOperand<'a> {
    fn new(
        builder: &mut Builder,
        tensor: &'a Tensor,
        owners: Vec<usize>,
        [from, to]: [usize; 2],
    ) -> ShiftedOperand<'a> {
        let largest = tensor.distribution.largest_block(&tensor.shape);
        let others = owners.len() - usize::from(owners[0] == builder.rank());
        let slots = (0..others.min(2)).map(|_| tensor.scratch(builder, largest.clone())).collect();
        ShiftedOperand { tensor, owners, from, to, slots }
    }

    fn block_at(&self, rank: usize, step: usize) -> Option<View> {
        if step == 0 && self.owners[0] == rank {
            return self.tensor.own(rank, &[]);
        }
        let block: Bounds = self.tensor.block(self.owners[step]);
        Some(corner(*self.slots.get(step % self.slots.len().max(1))?, &block))
    }

    fn skew(&self, builder: &mut Builder, target: usize, key: [usize; 3]) {
        let rank = builder.rank();
        if target != rank {
            let from = self.tensor.own(rank, &[]).into_iter().collect();
            builder.send(target, from).carries_elements(key, || vec![self.tensor.block(rank)]);
        }
        if self.owners[0] != rank {
            let into = self.block_at(rank, 0).into_iter().collect();
            builder.recv(self.owners[0], into).carries_elements(key, || vec![self.tensor.block(self.owners[0])]);
        }
    }

    fn shift(&self, builder: &mut Builder, step: usize, key: [usize; 3]) {
        let rank = builder.rank();
        let [from, into] = [step, step + 1].map(|step| self.block_at(rank, step).into_iter().collect());
        let block = |step: usize| vec![self.tensor.block(self.owners[step])];
        builder.send(self.to, from).carries_elements(key, || block(step));
        builder.recv(self.from, into).carries_elements(key, || block(step + 1));
    }
}

fn cannon(builder: &mut Builder, contraction: &Contraction, side: usize) {
    let rank = builder.rank();
    let Contraction { left, right, out, .. } = contraction;
    let Some(target) = out.own(rank, &[]).filter(|_| rank < side * side) else { return };
    let (row, column) = (rank / side, rank % side);
    let at = |row: usize, column: usize| row % side * side + column % side;
    let tiles = (0..side).map(|step| (row + column + step) % side);
    let lefts = tiles.clone().map(|tile| at(row, tile)).collect();
    let rights = tiles.map(|tile| at(tile, column)).collect();
    let left = ShiftedOperand::new(builder, left, lefts, [at(row, column + 1), at(row, column + side - 1)]);
    let right = ShiftedOperand::new(builder, right, rights, [at(row + 1, column), at(row + side - 1, column)]);
    left.skew(builder, at(row, column + side - row), [0, 0, 0]);
    right.skew(builder, at(row + side - column, column), [0, 1, 0]);
    for step in 0..side {
        if step + 1 < side {
            left.shift(builder, step, [1 + step, 0, 0]);
            right.shift(builder, step, [1 + step, 1, 0]);
        }
        let accumulate = if step == 0 { contraction.first() } else { Accumulate::Add };
        if let (Some(left), Some(right)) = (left.block_at(rank, step), right.block_at(rank, step)) {
            contract(builder, left, right, target.clone(), accumulate);
        }
    }
}

/// Each rank adds up products cyclically, from tile (row + column) mod `side` of `cut` on.
fn order(contraction: &Contraction, cut: Label, side: usize, of: &[usize]) -> BTreeMap<usize, Summands> {
    let out = &contraction.out;
    let summands_of = |rank: usize| -> Summands {
        let Some(of) = out.distribution.block(&out.shape, rank) else { return Summands::default() };
        let tiles = (0..side).map(|step| (rank / side + rank % side + step) % side);
        let products = |tile: usize| {
            let indices = |label, extent| if label == cut { tile_bounds(extent, side, tile) } else { 0..extent };
            contraction.products(|label, extent| Intervals::from(indices(label, extent)))
        };
        let summands = tiles.map(|tile| Summand { of: of.clone(), products: products(tile) });
        summands.collect::<Vec<_>>().into()
    };
    of.iter().map(|&rank| (rank, summands_of(rank))).collect()
}
