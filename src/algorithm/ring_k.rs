//! `ring-k`: both operands are cut along k. Partial sums of `out` travel around a ring, and each rank adds its
//! products.
//!
//! Source: J. Dressler, Scaling Out (Jena 2025), section 5.3, Algorithm 4, also known as reduce-scatter matrix
//! multiplication.
//!
//! Each of a rank's s + 1 slots (buffers for one piece) in turn receives, computes
//! and sends. Pieces have the same number of rows (indices of one dimension); a block's remaining rows are transferred
//! last.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::contraction::{Contraction, MAX_PIECES, Tensor, contract, corner, most_pieces};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, Setting, cut, is};
use super::local::local;
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::{Bounds, Intervals, is_empty, tile_bounds};
use crate::schedule::verify::Order;
use crate::schedule::{Accumulate, BufferId, Builder, CarriedSum, View, Work};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// This piece of the rank's own block.
    Own(usize),
    Exchange(BufferId),
}

struct Ring<'a> {
    rank: usize,
    ranks: usize,
    contraction: &'a Contraction,
    out: BufferId,
    cut: Label,
    split: Label,
    /// The pieces per block, each with `height` indices of `split`.
    pieces: usize,
    height: usize,
}

/// Operands are cut along `cut` (k), `out` along `out` (m or n), and its blocks along `split`, into 2 to `pieces`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RingK {
    pub cut: Label,
    pub out: Label,
    pub split: Label,
    pub pieces: usize,
}

pub fn candidates(setting: &Setting) -> Vec<RingK> {
    let mut all = Vec::new();
    for &cut in &setting.kinds.k {
        for &out in setting.kinds.m.iter().chain(&setting.kinds.n) {
            let split = split(setting, out);
            all.extend([2, MAX_PIECES].map(|pieces| RingK { cut, out, split, pieces }));
        }
    }
    all
}

/// Prefers a dimension with at least two indices, then `cut_out` if blocks differ along it, then even extents, other
/// dimensions, and long ones.
fn split(setting: &Setting, cut_out: Label) -> Label {
    let ranks = setting.ranks();
    let smallest = |label: Label| {
        let extent = setting.extent(label);
        if label == cut_out { tile_bounds(extent, ranks, ranks - 1).len() } else { extent }
    };
    let differ = !setting.extent(cut_out).is_multiple_of(ranks);
    let best = setting.out.iter().copied().max_by_key(|&label| {
        let length = smallest(label);
        (length >= 2, !differ || label == cut_out, length % 2 == 0, label != cut_out, length)
    });
    best.unwrap_or(cut_out)
}

impl Generator for RingK {
    fn cuts(&self) -> Vec<Label> {
        vec![self.cut, self.out]
    }

    fn applies(&self, kinds: &Kinds) -> bool {
        is(kinds, self.cut, &[Kind::K])
            && is(kinds, self.out, &[Kind::M, Kind::N])
            && is(kinds, self.split, &[Kind::C, Kind::M, Kind::N])
    }

    fn distributions(&self, [left, right, out]: [&[Label]; 3], ranks: usize) -> Option<Distributions> {
        let [left, right] = [left, right].map(|labels| cut(labels, [(self.cut, ranks)]));
        Some(Distributions { left, right, out: cut(out, [(self.out, ranks)]) })
    }

    fn order(&self, _: &Contraction, _: &[usize], _: usize) -> Order {
        Order::RingDown(self.cut)
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        ring_k(builder, contraction, [self.out, self.split], self.pieces);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        let (&RingK { cut, out, split, pieces }, cost) = (self, contracted.cost);
        let (share, block) = (cost.tile(cut, contracted.ranks()), cost.tile(out, contracted.ranks()));
        let left = contracted.tensors[0];
        let ([a, b, c], ranks) = (contracted.elements, contracted.ranks() as f64);
        let (with_out, without) = if left.contains(&out) { (a * share, b * share) } else { (b * share, a * share) };
        let of_block = with_out * block;
        // Every piece reads all of an operand without `split`.
        let both = contracted.tensors[..2].iter().all(|labels| labels.contains(&split));
        let shared = if both {
            0.0
        } else if left.contains(&split) == left.contains(&out) {
            without
        } else {
            of_block
        };
        let pieces = most_pieces(c * block).min(pieces).max(2) as f64;
        let blocks = ranks * block;
        let whole = cost.product_of(
            ranks * pieces,
            contracted.multiply_adds * share * blocks,
            with_out * blocks + without + 2.0 * c * blocks,
        );
        let compute = whole + cost.extra_passes((ranks - 1.0) * without + ranks * (pieces - 1.0) * shared);
        cost.ring(compute, c * block, pieces, 2.0 * compute / (ranks * pieces))
    }

    /// All blocks of `out` except the next rank's, which this rank computes first.
    fn words_received(&self, contraction: &Contraction, rank: usize, ranks: usize) -> Option<u64> {
        let out = &contraction.out;
        Some(out.elements() - out.held((rank + 1) % ranks))
    }
}

fn ring_k(builder: &mut Builder, contraction: &Contraction, [cut, split]: [Label; 2], pieces: usize) {
    let (rank, ranks) = (builder.rank(), contraction.out.distribution.ranks());
    let Some(out) = contraction.out.buffer else { return };
    if ranks == 1 {
        return local(builder, contraction);
    }
    // Larger tiles come first.
    let smallest = contraction.out.tile(ranks - 1, split).len();
    let block = contraction.out.distribution.largest_block(&contraction.out.shape);
    let most = most_pieces(block.iter().product::<usize>() as f64).min(pieces).clamp(2, smallest.max(2));
    let largest = contraction.out.tile(0, split).len();
    // Two of the largest remainders (rows in no piece) must fit into one slot. Divisors of the smallest block's rows
    // leave the smallest.
    let fits = |pieces: &usize| 2 * (largest - pieces * (smallest / pieces)) <= smallest / pieces;
    let equal = (2..=most).rev().filter(|pieces| smallest.is_multiple_of(*pieces)).find(fits);
    let pieces = equal.or_else(|| (2..=most).rev().find(fits)).unwrap_or(2);
    let ring = Ring { rank, ranks, contraction, out, cut, split, pieces, height: smallest / pieces };
    let free = ring.whole_pieces(builder);
    ring.rest(builder, free);
}

impl Ring<'_> {
    fn tensor(&self) -> &Tensor {
        &self.contraction.out
    }

    fn neighbours(&self) -> (usize, usize) {
        ((self.rank + 1) % self.ranks, (self.rank + self.ranks - 1) % self.ranks)
    }

    fn rows(&self, owner: usize, rows: Range<usize>) -> Bounds {
        let mut bounds = self.tensor().block(owner);
        let range = &mut bounds[self.tensor().dim(self.split)];
        *range = range.start + rows.start..range.start + rows.end;
        bounds
    }

    fn piece(&self, owner: usize, which: usize) -> Bounds {
        self.rows(owner, which * self.height..(which + 1) * self.height)
    }

    fn remainder(&self, owner: usize) -> Bounds {
        let rows = self.tensor().tile(owner, self.split).len();
        self.rows(owner, self.pieces * self.height..rows)
    }

    fn own(&self, piece: &[Range<usize>]) -> View {
        let view = self.tensor().view(self.rank, piece);
        view.unwrap_or_else(|| unreachable!("the rank has a block of out, which the piece is of"))
    }

    fn place(&self, slot: Slot, piece: &[Range<usize>]) -> View {
        match slot {
            Slot::Exchange(buffer) => corner(buffer, piece),
            Slot::Own(which) => {
                let home = self.own(&self.piece(self.rank, which));
                let bounds = home.bounds.iter().zip(piece).map(|(h, p)| h.start..h.start + p.len()).collect();
                View { buffer: self.out, bounds }
            }
        }
    }

    /// Adds products to `here`; also stores the sum of an own piece (`mine`).
    fn compute(&self, builder: &mut Builder, piece: &Bounds, here: View, first: bool, mine: bool) {
        let ranges: Vec<_> =
            [self.cut, self.split].map(|label| (label, piece[self.tensor().dim(label)].clone())).into();
        let Contraction { left, right, onto, .. } = self.contraction;
        let (Some(left), Some(right)) = (left.own(self.rank, &ranges), right.own(self.rank, &ranges)) else { return };
        if mine && *onto {
            contract(builder, left, right, self.own(piece), Accumulate::Beta);
            if here.elements() > 0 {
                builder.work(Work::Add { input: here, out: self.own(piece) });
            }
            return;
        }
        contract(builder, left, right, here.clone(), if first { Accumulate::Overwrite } else { Accumulate::Add });
        if mine && here != self.own(piece) && here.elements() > 0 {
            builder.work(Work::Unary { input: here, out: self.own(piece) });
        }
    }

    /// The products of `rank` and the `count - 1` ranks after it, last added first.
    fn products(&self, rank: usize, count: usize) -> CarriedSum {
        let left = &self.contraction.left;
        let end = rank + count;
        let makers = [0..end.saturating_sub(self.ranks), rank..end.min(self.ranks)];
        let cut = left.distribution.axes().first().and_then(|axis| axis.cut_dim()).map(|dim| left.labels[dim]);
        let summed = |makers: Range<usize>| {
            self.contraction.products(|label, extent| {
                let tile = |maker: usize| tile_bounds(extent, self.ranks, maker);
                let cut = cut == Some(label);
                Intervals::from(if cut { tile(makers.start).start..tile(makers.end - 1).end } else { 0..extent })
            })
        };
        CarriedSum::Products(makers.into_iter().filter(|makers| !makers.is_empty()).map(summed).collect())
    }

    fn whole_pieces(&self, builder: &mut Builder) -> Option<BufferId> {
        if self.height == 0 {
            return None;
        }
        let slots = self.slots(builder);
        let (pieces, steps) = (self.pieces, self.pieces * self.ranks);
        let (next, previous) = self.neighbours();
        // The last steps must use the rank's own block.
        let first = (steps - pieces) % slots.len();
        let at = |step: usize| {
            let piece = self.piece((self.rank + 1 + step / pieces) % self.ranks, step % pieces);
            let view = self.place(slots[(step + slots.len() - first) % slots.len()], &piece);
            (piece, view)
        };
        for step in 0..steps {
            if (1..=steps - pieces).contains(&step) {
                let [(sent, from), (received, into)] = [step - 1, step - 1 + pieces].map(at);
                let (key, computed) = ([0, step, 0], (step - 1) / pieces + 1);
                builder.send(previous, vec![from]).carries(key, || (vec![sent], self.products(self.rank, computed)));
                builder.recv(next, vec![into]).carries(key, || (vec![received], self.products(next, computed)));
            }
            let (piece, here) = at(step);
            self.compute(builder, &piece, here, step < pieces, step >= steps - pieces);
        }
        match slots[pieces] {
            Slot::Exchange(buffer) => Some(buffer),
            Slot::Own(_) => None,
        }
    }

    /// Each is large enough for any piece. All but the last are in the rank's block, if possible.
    fn slots(&self, builder: &mut Builder) -> Vec<Slot> {
        // Rank 0 has the largest pieces.
        let largest: Vec<usize> = self.piece(0, 0).iter().map(Range::len).collect();
        let fits = self.piece(self.rank, 0).iter().map(Range::len).eq(largest.iter().copied());
        let slot = |which: usize| {
            if which < self.pieces && fits && !self.contraction.onto {
                Slot::Own(which)
            } else {
                Slot::Exchange(self.tensor().scratch(builder, largest.clone()))
            }
        };
        (0..=self.pieces).map(slot).collect()
    }

    /// Remainders are small, so they do not overlap with computing. They arrive in two alternating buffers.
    fn rest(&self, builder: &mut Builder, free: Option<BufferId>) {
        let largest = self.remainder(0);
        if is_empty(&largest) {
            return;
        }
        let two_slots = self.two_slots(builder, free, &largest);
        let (next, previous) = self.neighbours();
        let last = self.ranks - 1;
        let at = |step: usize| {
            let piece = self.remainder((self.rank + 1 + step) % self.ranks);
            let view = if step == last && !self.contraction.onto {
                self.own(&piece)
            } else {
                let bounds = two_slots[step % 2].bounds.iter().zip(&piece).map(|(p, b)| p.start..p.start + b.len());
                View { buffer: two_slots[step % 2].buffer, bounds: bounds.collect() }
            };
            (piece, view)
        };
        for step in 0..self.ranks {
            let (piece, here) = at(step);
            if step > 0 {
                let (sent, from) = at(step - 1);
                let key = [1, step, 0];
                builder.send(previous, vec![from]).carries(key, || (vec![sent], self.products(self.rank, step)));
                let received = || (vec![piece.clone()], self.products(next, step));
                builder.recv(next, vec![here.clone()]).carries(key, received);
            }
            self.compute(builder, &piece, here, step == 0, step == last);
        }
    }

    /// Both are in the slot `free` if it is large enough.
    fn two_slots(&self, builder: &mut Builder, free: Option<BufferId>, largest: &Bounds) -> [View; 2] {
        let dim = self.tensor().dim(self.split);
        let rows = largest[dim].len();
        let free = free.filter(|_| 2 * rows <= self.height);
        let mut extents: Vec<usize> = largest.iter().map(Range::len).collect();
        extents[dim] = 2 * rows;
        let buffer = free.unwrap_or_else(|| self.tensor().scratch(builder, extents));
        [0, 1].map(|which| {
            let mut view = corner(buffer, largest);
            view.bounds[dim] = which * rows..(which + 1) * rows;
            view
        })
    }
}
