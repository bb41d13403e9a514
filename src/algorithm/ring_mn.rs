//! `ring-mn`: `out` and one operand stay in place; blocks of the other travel around a ring of ranks.
//!
//! Source: J. Dressler, Scaling Out (Jena 2025), section 5.2, Algorithm 2; JAX's collective matrix multiplication. In
//! the mirrored ring, `left` and `right` are swapped.
//!
//! In each step, rank i contracts block (i + step) mod p of the travelling operand. The last is contracted in pieces as
//! they arrive; others are one task each, so that the stationary operand is packed once per block.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::contraction::{Contraction, MAX_PIECES, contract, most_pieces};
use super::cost::{Contracted, DEEP_ROUND_INDICES};
use super::generator::{Distributions, Generator, Setting, cut, is};
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::{Bounds, tile_bounds};
use crate::schedule::{Accumulate, BufferId, Builder, View};

/// `out` and one operand are cut along `cut`; the other (the right one if `cut` is an m dimension) travels, cut along
/// `travel`. Blocks have at most `pieces` pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RingMn {
    pub cut: Label,
    pub travel: Label,
    pub pieces: usize,
}

/// One piece suits rings that compute longer than they transfer.
pub fn candidates(setting: &Setting) -> Vec<RingMn> {
    let mirrored = setting.pairs().map(|(m, n)| (n, m));
    let rings = setting
        .pairs()
        .chain(mirrored)
        .flat_map(|(cut, travel)| [1, MAX_PIECES].map(|pieces| RingMn { cut, travel, pieces }));
    rings.collect()
}

impl Generator for RingMn {
    fn cuts(&self) -> Vec<Label> {
        vec![self.cut, self.travel]
    }

    fn applies(&self, kinds: &Kinds) -> bool {
        let is = |label: Label, kind: Kind| is(kinds, label, &[kind]);
        (is(self.cut, Kind::M) && is(self.travel, Kind::N)) || (is(self.cut, Kind::N) && is(self.travel, Kind::M))
    }

    fn distributions(&self, [left, right, out]: [&[Label]; 3], ranks: usize) -> Option<Distributions> {
        let (l, r) = if left.contains(&self.cut) { (self.cut, self.travel) } else { (self.travel, self.cut) };
        let along = |labels, label| cut(labels, [(label, ranks)]);
        Some(Distributions { left: along(left, l), right: along(right, r), out: along(out, self.cut) })
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        ring_mn(builder, contraction, [self.cut, self.travel], self.pieces);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        let (&RingMn { cut, travel, pieces }, cost) = (self, contracted.cost);
        let (share, block) = (cost.tile(cut, contracted.ranks()), cost.tile(travel, contracted.ranks()));
        let ([a, b, c], ranks) = (contracted.elements, contracted.ranks() as f64);
        let left = contracted.tensors[0].contains(&cut);
        let (stays, travels) = if left { (a, b) } else { (b, a) };
        let [staying, travelling] = [usize::from(!left), usize::from(left)].map(|tensor| contracted.tensors[tensor]);
        let out = contracted.tensors[2];
        let extent = |label: Label| cost.extents[label.0 as usize];
        let tile = |&label: &Label| {
            if label == travel { tile_bounds(extent(label), contracted.ranks(), 0).len() } else { extent(label) }
        };
        let extents: Vec<usize> = travelling.iter().map(tile).collect();
        let (dim, pieces) = dim_and_pieces(travelling, &extents, out, travel, pieces);
        let (along, pieces) = (travelling[dim], pieces as f64);
        let summed = travelling.iter().filter(|label| !out.contains(label));
        let depth: f64 = summed.map(|&label| extent(label) as f64).product();
        // The elements that pieces of the last block access again.
        let last_block_elements = match along {
            _ if !staying.contains(&along) => (pieces - 1.0) * stays * share,
            _ if out.contains(&along) => 0.0,
            _ => (pieces - (depth / DEEP_ROUND_INDICES).ceil()).max(0.0) * c * share * block,
        };
        let blocks = ranks * block;
        let whole = cost.product_of(
            ranks,
            contracted.multiply_adds * share * blocks,
            stays * share + (travels + c * share) * blocks,
        );
        let last = whole / ranks + cost.extra_passes((ranks - 1.0) / ranks * stays * share + last_block_elements);
        let compute = whole + cost.extra_passes((ranks - 1.0) * stays * share + last_block_elements);
        cost.ring(compute, travels * block, pieces, last / pieces)
    }

    fn words_received(&self, contraction: &Contraction, rank: usize, _: usize) -> Option<u64> {
        let Contraction { left, right, .. } = contraction;
        let travels = if left.labels.contains(&self.cut) { right } else { left };
        Some(travels.elements() - travels.held(rank))
    }
}

fn ring_mn(builder: &mut Builder, contraction: &Contraction, [cut, travel]: [Label; 2], most: usize) {
    let rank = builder.rank();
    let Contraction { left, right, out, .. } = contraction;
    let mirrored = right.labels.contains(&cut);
    let (stays, travels) = if mirrored { (right, left) } else { (left, right) };
    let ranks = out.distribution.ranks();
    let (Some(_), Some(_)) = (stays.own(rank, &[]), travels.own(rank, &[])) else { return };
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let largest = travels.distribution.largest_block(&travels.shape);
    // With two ranks, the buffer fits the only received block.
    let received = if ranks == 2 { travels.block(next).iter().map(Range::len).collect() } else { largest.clone() };
    let exchange: Vec<BufferId> = (1..ranks.min(3)).map(|_| travels.scratch(builder, received.clone())).collect();
    let accumulate = contraction.first();
    let (dim, many) = dim_and_pieces(&travels.labels, &largest, &out.labels, travel, most);
    let pieces = if ranks == 1 { 1 } else { many };

    let piece = |step: usize, pieces: usize, which: usize| -> (Bounds, Option<View>) {
        let mut bounds = travels.block((rank + step) % ranks);
        let start = bounds[dim].start;
        let tile = tile_bounds(bounds[dim].len(), pieces, which);
        bounds[dim] = start + tile.start..start + tile.end;
        if step == 0 {
            let own = travels.own(rank, &[(travels.labels[dim], bounds[dim].clone())]);
            return (bounds, own);
        }
        let mut place: Bounds = bounds.iter().map(|range| 0..range.len()).collect();
        place[dim] = tile;
        (bounds, Some(View { buffer: exchange[(step - 1) % exchange.len()], bounds: place }))
    };
    for step in 0..ranks {
        for which in (0..pieces).filter(|_| step + 1 < ranks) {
            let [(sent, from), (received, into)] = [step, step + 1].map(|step| piece(step, pieces, which));
            let key = [step, which, 0];
            builder.send(previous, from.into_iter().collect()).carries_elements(key, || vec![sent]);
            builder.recv(next, into.into_iter().collect()).carries_elements(key, || vec![received]);
        }
        let contracted = if step + 1 < ranks { 1 } else { pieces };
        for which in 0..contracted {
            let (bounds, Some(here)) = piece(step, contracted, which) else { return };
            let part = [travels.dim(travel), dim].map(|dim| (travels.labels[dim], bounds[dim].clone()));
            if let (Some(stay), Some(part_of_out)) = (stays.own(rank, &part), out.own(rank, &part)) {
                let (left, right) = if mirrored { (here, stay) } else { (stay, here) };
                let begun = which > 0 && !out.labels.contains(&travels.labels[dim]);
                contract(builder, left, right, part_of_out, if begun { Accumulate::Add } else { accumulate });
            }
        }
    }
}

/// The minimum number of summed indices in a piece that is cut along a summed dimension. With far fewer than
/// `DEEP_ROUND_INDICES`, cutting another dimension is cheaper.
const MIN_DEPTH: usize = 256;

fn dim_and_pieces(labels: &[Label], extents: &[usize], out: &[Label], travel: Label, most: usize) -> (usize, usize) {
    let pieces = most_pieces(extents.iter().product::<usize>() as f64).min(most).max(1);
    let summed = |dim: usize| !out.contains(&labels[dim]);
    let depth: usize = (0..extents.len()).filter(|&dim| summed(dim)).map(|dim| extents[dim]).product();
    let deep = |dim: usize| !summed(dim) || depth / extents[dim] * (extents[dim] / pieces) >= MIN_DEPTH;
    let outermost = extents.iter().position(|&extent| extent > 1);
    if let Some(dim) = outermost.filter(|&dim| extents[dim] >= pieces && deep(dim)) {
        return (dim, pieces);
    }
    let dim = labels.iter().position(|&label| label == travel).unwrap_or_else(|| panic!("the block has the dimension"));
    (dim, pieces.min(extents[dim]).max(1))
}
