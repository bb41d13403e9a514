//! The cost of a contraction under each algorithm, with its inputs already distributed as required.
//!
//! Each method derives the computing and receiving times of the busiest rank; [`Cost::hidden`] models their overlap.
//! Deliberately absent: `slicing`, whose transfers depend on the distributions ([`Cost::slicing`]).

use super::super::grids::DEEP_ROUND_INDICES;
use super::Cost;
use crate::algorithm::{Algorithm, Grid, dim_and_pieces, most_pieces};
use crate::dims::Label;
use crate::distribution::tile_bounds;
use crate::machine::Link;

impl Cost<'_> {
    /// Predicted seconds of a contraction under an algorithm, with its inputs already distributed as required.
    pub fn contraction(&self, algorithm: &Algorithm, left: &[Label], right: &[Label], out: &[Label]) -> f64 {
        let mut all: Vec<Label> = left.iter().chain(right).copied().collect();
        all.sort_unstable();
        all.dedup();
        let tensors = [left, right, out];
        let elements = tensors.map(|labels| self.volume(labels));
        let contracted = Contracted { cost: self, tensors, elements, multiply_adds: self.volume(&all) };
        match *algorithm {
            Algorithm::Local => contracted.share(1.0) / self.machine.solo_speedup,
            // Work only, no transfers.
            Algorithm::Slicing { .. } => contracted.share(1.0 / self.machine.ranks as f64),
            Algorithm::BatchParallel { cut } => contracted.share(self.tile(cut, self.machine.ranks)),
            Algorithm::Grid(ref grid) => contracted.grid(grid, &all),
            Algorithm::Cannon { m, n, k, side } => contracted.cannon([m, n, k], side),
            Algorithm::MasterWorker { cut, ref ends } => contracted.master_worker(cut, ends),
            Algorithm::RingMn { cut, travel, pieces } => contracted.ring_mn(cut, travel, pieces),
            Algorithm::RingK { cut, out, split, pieces } => contracted.ring_k(cut, out, split, pieces),
        }
    }

    /// The largest of `tiles` even tiles of a dimension, as a share of its extent.
    fn tile(&self, label: Label, tiles: usize) -> f64 {
        let extent = self.extents[label.0 as usize];
        tile_bounds(extent, tiles, 0).len() as f64 / (extent.max(1) as f64)
    }

    /// The extra seconds of a product that is computed in parts: the parts repack this many elements of a shared
    /// operand, or reread and rewrite this many elements of out.
    fn again(&self, elements: f64) -> f64 {
        self.stream(2.0 * elements)
    }

    /// Seconds of a ring that moves blocks of `elements` elements in `pieces` pieces each and computes for `compute`
    /// seconds in total. Both overlap, except for `exposed` seconds of computing before or after all transfers.
    fn ring(&self, compute: f64, elements: f64, pieces: f64, exposed: f64) -> f64 {
        let receive = (self.machine.ranks as f64 - 1.0) * pieces * self.transfer(elements / pieces);
        self.hidden([compute, exposed], [receive, 0.0])
    }
}

/// A contraction: the labels and the number of elements of each tensor, and the number of multiply-adds.
struct Contracted<'a> {
    cost: &'a Cost<'a>,
    tensors: [&'a [Label]; 3],
    elements: [f64; 3],
    multiply_adds: f64,
}

impl Contracted<'_> {
    fn ranks(&self) -> usize {
        self.cost.machine.ranks
    }

    /// Seconds in which one rank computes this share of the multiply-adds, touching the same share of every tensor.
    fn share(&self, share: f64) -> f64 {
        self.cost.product(self.multiply_adds * share, self.elements.iter().sum::<f64>() * share)
    }

    fn cannon(&self, dims: [Label; 3], side: usize) -> f64 {
        let ([m, n, k], [a, b, c]) = (dims.map(|label| self.cost.tile(label, side)), self.elements);
        let (a, b, c) = (a * m * k, b * k * n, c * m * n);
        let compute = side as f64 * self.cost.product(self.multiply_adds * m * n * k, a + b + c);
        let block = self.cost.transfer(a) + self.cost.transfer(b);
        // The initial skew receives one block of each operand; so does each step except the last.
        let skew = if side > 1 { block } else { 0.0 };
        skew + self.cost.overlapped(compute, (side as f64 - 1.0) * block)
    }

    fn master_worker(&self, cut: Label, ends: &[usize]) -> f64 {
        let indices = self.cost.extents[cut.0 as usize].max(1) as f64;
        let starts = [0].iter().chain(ends);
        let parts: Vec<f64> = starts.zip(ends).map(|(start, end)| (end - start) as f64 / indices).collect();
        let slowest = parts.iter().enumerate().map(|(rank, part)| part / self.cost.machine.speed(rank));
        let (slowest, workers) = (slowest.fold(0.0, f64::max), self.ranks() as f64 - 1.0);
        let share = parts.iter().copied().fold(0.0, f64::max);
        let part =
            |tensor: usize| self.elements[tensor] * if self.tensors[tensor].contains(&cut) { share } else { 1.0 };
        let [a, b, c] = [0, 1, 2].map(part);
        let compute = self.cost.product(self.multiply_adds * slowest, a + b + c);
        // All transfers go through rank 0.
        let through = workers * (self.cost.transfer(a) + self.cost.transfer(b) + self.cost.transfer(c));
        let chunk = if workers > 0.0 { compute / most_pieces(a + b + c) as f64 } else { 0.0 };
        self.cost.overlapped(compute, through) + chunk
    }

    fn ring_mn(&self, cut: Label, travel: Label, pieces: usize) -> f64 {
        let (share, block) = (self.cost.tile(cut, self.ranks()), self.cost.tile(travel, self.ranks()));
        let ([a, b, c], ranks) = (self.elements, self.ranks() as f64);
        let left = self.tensors[0].contains(&cut);
        let (stays, travels) = if left { (a, b) } else { (b, a) };
        let [staying, travelling] = [usize::from(!left), usize::from(left)].map(|tensor| self.tensors[tensor]);
        let out = self.tensors[2];
        let extent = |label: Label| self.cost.extents[label.0 as usize];
        let tile = |&label: &Label| {
            if label == travel { tile_bounds(extent(label), self.ranks(), 0).len() } else { extent(label) }
        };
        let extents: Vec<usize> = travelling.iter().map(tile).collect();
        let (dim, pieces) = dim_and_pieces(travelling, &extents, out, travel, pieces);
        let (along, pieces) = (travelling[dim], pieces as f64);
        let summed = travelling.iter().filter(|label| !out.contains(label));
        let depth: f64 = summed.map(|&label| extent(label) as f64).product();
        // The last block is contracted in pieces. Depending on the dimension that they cut, each piece repacks the
        // whole stationary operand, or adds no work, or packs only its own part but may need another pass over out.
        let again = match along {
            _ if !staying.contains(&along) => (pieces - 1.0) * stays * share,
            _ if out.contains(&along) => 0.0,
            _ => (pieces - (depth / DEEP_ROUND_INDICES).ceil()).max(0.0) * c * share * block,
        };
        let blocks = ranks * block;
        let whole = self.cost.product_of(
            ranks,
            self.multiply_adds * share * blocks,
            stays * share + (travels + c * share) * blocks,
        );
        let last = whole / ranks + self.cost.again((ranks - 1.0) / ranks * stays * share + again);
        let compute = whole + self.cost.again((ranks - 1.0) * stays * share + again);
        self.cost.ring(compute, travels * block, pieces, last / pieces)
    }

    fn ring_k(&self, cut: Label, out: Label, split: Label, pieces: usize) -> f64 {
        let (share, block) = (self.cost.tile(cut, self.ranks()), self.cost.tile(out, self.ranks()));
        let left = self.tensors[0];
        let ([a, b, c], ranks) = (self.elements, self.ranks() as f64);
        let (with_out, without) = if left.contains(&out) { (a * share, b * share) } else { (b * share, a * share) };
        let of_block = with_out * block;
        // Pieces cut one operand and share the other; if all tensors have the dimension, they cut both and share none.
        let both = self.tensors[..2].iter().all(|labels| labels.contains(&split));
        let shared = if both {
            0.0
        } else if left.contains(&split) == left.contains(&out) {
            without
        } else {
            of_block
        };
        let pieces = most_pieces(c * block).min(pieces).max(2) as f64;
        let blocks = ranks * block;
        let whole = self.cost.product_of(
            ranks * pieces,
            self.multiply_adds * share * blocks,
            with_out * blocks + without + 2.0 * c * blocks,
        );
        let compute = whole + self.cost.again((ranks - 1.0) * without + ranks * (pieces - 1.0) * shared);
        self.cost.ring(compute, c * block, pieces, 2.0 * compute / (ranks * pieces))
    }

    /// Seconds of the busiest rank. Its operands arrive in rounds while it computes, the last one before its last
    /// product. The other ranks' summands of its part of out arrive after all products.
    fn grid(&self, grid: &Grid, all: &[Label]) -> f64 {
        // All ranks are priced with the largest tiles; they differ in whether their tiles are shared across nodes.
        let (ranks, per_node) = (grid.ranks(), self.cost.machine.ranks_per_node);
        let mut sampled_ranks =
            if per_node > 1 { vec![0, per_node - 1, per_node, ranks / 2, ranks - 1] } else { vec![0] };
        sampled_ranks.retain(|&rank| rank < ranks);
        sampled_ranks.into_iter().map(|rank| self.grid_of(grid, all, rank)).fold(0.0, f64::max)
    }

    /// Seconds of a rank with the largest tiles, over the links to the ranks that share tiles with `rank`.
    fn grid_of(&self, grid: &Grid, all: &[Label], rank: usize) -> f64 {
        let Cost { machine, dtype, extents } = *self.cost;
        let tile = |labels: &[Label]| -> f64 {
            let lengths = labels.iter().map(|&label| grid.tile(0, label, extents[label.0 as usize]).len() as f64);
            lengths.product()
        };
        let [left, right, out] = self.tensors.map(tile);
        let links = self.tensors.map(|labels| -> Vec<Link> {
            let others = grid.sharing(labels, rank).into_iter().filter(|&other| other != rank);
            others.map(|other| machine.link(rank, other)).collect()
        });
        // Each of the other ranks that share the tile sends one part of it, in pieces.
        let receive = |elements: f64, links: &[Link], pieces: f64| -> f64 {
            let part = elements / (links.len() + 1) as f64 * dtype.size() as f64;
            links.iter().map(|link| pieces * link.latency + part / link.bandwidth).sum()
        };
        let gather = |operand: usize, elements: f64| {
            let sharing = (links[operand].len() + 1) as f64;
            receive(elements, &links[operand], (grid.rounds as f64 / sharing).max(1.0))
        };
        let gather = gather(0, left) + gather(1, right);
        let adds = if links[2].is_empty() { 0.0 } else { self.cost.stream(3.0 * out) };
        let rounds = if gather > 0.0 { grid.rounds as f64 } else { 1.0 };
        // Even without rounds, a product passes over out once per `DEEP_ROUND_INDICES` summed indices.
        let more = (rounds - (tile(all) / out.max(1.0) / DEEP_ROUND_INDICES).ceil()).max(0.0);
        let compute = self.cost.product(tile(all), left + right + out) + self.cost.again(more * out);
        // Ranks start with the part of one operand that they hold. If the other is shared too, receiving a part of it
        // is exposed.
        let both = !links[0].is_empty() && !links[1].is_empty();
        let exposed = if both || rounds < 2.0 { gather / rounds } else { 0.0 };
        self.cost.hidden([compute, compute / rounds], [gather, exposed])
            + receive(out, &links[2], grid.pieces.max(1) as f64)
            + adds
    }
}
