//! What steps take: operations, bytes and messages, priced by the rates of a machine.
//!
//! Overlap is a maximum: of a ring the longer of computing and receiving counts, and a piece of a block that has nothing to
//! hide behind; and of the shorter one as much as the two get in each other's way ([`Machine::interference`]).

use crate::algorithm::{Algorithm, Contraction, Grid, Tensor, most_pieces};
use crate::dims::Label;
use crate::dist::{Distribution, tile_bounds};
use crate::dtype::Dtype;
use crate::machine::{Link, Machine};
use crate::schedule::{Action, Builder, Schedule, Work};

/// Ranks whose schedules are made to price an algorithm by them.
const RANKS_LOOKED_AT: usize = 16;
/// Ranks whose blocks are looked at to price a redistribution.
const BLOCKS_LOOKED_AT: usize = 8;

/// Rates of a machine for one element type.
pub struct Cost<'a> {
    pub machine: &'a Machine,
    pub dtype: Dtype,
    /// Extents by label.
    pub extents: &'a [usize],
}

impl Cost<'_> {
    fn volume(&self, labels: &[Label]) -> f64 {
        labels.iter().map(|label| self.extents[label.0 as usize] as f64).product()
    }

    /// The share of the largest tile when a dimension is cut over all ranks.
    fn share(&self, label: Label) -> f64 {
        let extent = self.extents[label.0 as usize];
        tile_bounds(extent, self.machine.ranks, 0).len() as f64 / (extent.max(1) as f64)
    }

    fn transfer(&self, elements: f64) -> f64 {
        let bytes = elements * self.dtype.size() as f64;
        if bytes == 0.0 { 0.0 } else { self.machine.link_latency + bytes / self.machine.link_bandwidth }
    }

    /// Seconds of a product of this many multiply-adds that touches this many elements, on all workers of one rank: as fast as that
    /// of a cube, and what it touches more than a cube comes on top.
    fn product(&self, multiply_adds: f64, touched: f64) -> f64 {
        let slower = (self.dtype.size() as f64 / 4.0).min(if self.dtype.is_complex() { 1.0 } else { 2.0 });
        let side = multiply_adds.cbrt();
        let rate = self.machine.rate(side) * self.machine.workers as f64 / slower.max(1.0);
        let compute = multiply_adds * self.dtype.flops_per_multiply_add() as f64 / rate;
        compute + self.stream((touched - 3.0 * side * side).max(0.0))
    }

    /// Of a product in so many equal pieces one after the other, of which each touches all of `shared` and its part of the rest:
    /// seconds of one piece.
    fn piece(&self, multiply_adds: f64, shared: f64, rest: f64, pieces: f64) -> f64 {
        self.product(multiply_adds / pieces, shared + rest / pieces)
    }

    fn stream(&self, elements: f64) -> f64 {
        elements * self.dtype.size() as f64 / (self.machine.memory_bandwidth * self.machine.workers as f64)
    }

    /// Seconds of computing and receiving at the same time.
    fn overlapped(&self, compute: f64, receive: f64) -> f64 {
        compute.max(receive) + self.machine.interference * compute.min(receive)
    }

    /// A ring that moves blocks of `elements` in so many pieces, and contracts for `compute` seconds in all: one of the two goes on
    /// all the time, but for `exposed` seconds of computing before or after all transfers.
    fn ring(&self, compute: f64, elements: f64, pieces: f64, exposed: f64) -> f64 {
        let receive = (self.machine.ranks as f64 - 1.0) * pieces * self.transfer(elements / pieces);
        compute.max(receive + exposed) + self.machine.interference * compute.min(receive)
    }

    /// Predicted seconds of a contraction by an algorithm, its inputs in place.
    pub fn contraction(&self, algorithm: &Algorithm, left: &[Label], right: &[Label], out: &[Label]) -> f64 {
        let mut all: Vec<Label> = left.iter().chain(right).copied().collect();
        all.sort_unstable();
        all.dedup();
        let (a, b, c) = (self.volume(left), self.volume(right), self.volume(out));
        let multiply_adds = self.volume(&all);
        match *algorithm {
            Algorithm::Local => self.product(multiply_adds, a + b + c),
            // Of the work only: what moves depends on where tensors lie (`Cost::slicing`).
            Algorithm::Slicing { .. } => {
                let share = 1.0 / self.machine.ranks as f64;
                self.product(multiply_adds * share, (a + b + c) * share)
            }
            Algorithm::Grid(ref grid) => self.grid(grid, [left, right, out]),
            Algorithm::Cannon { m, n, k, side } => {
                let share = |label: Label| {
                    let extent = self.extents[label.0 as usize];
                    tile_bounds(extent, side, 0).len() as f64 / extent.max(1) as f64
                };
                let [m, n, k] = [m, n, k].map(share);
                let (a, b, c) = (a * m * k, b * k * n, c * m * n);
                let compute = side as f64 * self.product(multiply_adds * m * n * k, a + b + c);
                let block = self.transfer(a) + self.transfer(b);
                // To begin with, then one for each step but the last.
                let skew = if side > 1 { block } else { 0.0 };
                skew + self.overlapped(compute, (side as f64 - 1.0) * block)
            }
            Algorithm::MasterWorker { cut, ref ends } => {
                let indices = self.extents[cut.0 as usize].max(1) as f64;
                let starts = [0].iter().chain(ends);
                let parts: Vec<f64> = starts.zip(ends).map(|(start, end)| (end - start) as f64 / indices).collect();
                let slowest = parts.iter().enumerate().map(|(rank, part)| part / self.machine.speed(rank));
                let (slowest, workers) = (slowest.fold(0.0, f64::max), self.machine.ranks as f64 - 1.0);
                let share = parts.iter().copied().fold(0.0, f64::max);
                let part =
                    |labels: &[Label], elements: f64| if labels.contains(&cut) { elements * share } else { elements };
                let [a, b, c] = [(left, a), (right, b), (out, c)].map(|(labels, elements)| part(labels, elements));
                let compute = self.product(multiply_adds * slowest, a + b + c);
                // Everything goes through one rank.
                let through = workers * (self.transfer(a) + self.transfer(b) + self.transfer(c));
                self.overlapped(compute, through)
                    + if workers > 0.0 { compute / most_pieces(a + b + c) as f64 } else { 0.0 }
            }
            Algorithm::C { cut } => {
                let share = self.share(cut);
                self.product(multiply_adds * share, (a + b + c) * share)
            }
            Algorithm::RingMn { cut, travel, pieces } => {
                let (share, block) = (self.share(cut), self.share(travel));
                let (stays, travels) = if left.contains(&cut) { (a, b) } else { (b, a) };
                let (all, shared, rest) =
                    (multiply_adds * share * block, stays * share, travels * block + c * share * block);
                let travelling = most_pieces(travels * block);
                let last = travelling.min(pieces).max(1) as f64;
                // The last block in pieces, all others whole.
                let piece = self.piece(all, shared, rest, last);
                let compute = (self.machine.ranks as f64 - 1.0) * self.product(all, shared + rest) + last * piece;
                self.ring(compute, travels * block, travelling as f64, piece)
            }
            Algorithm::RingK { cut, out: o, split, pieces } => {
                let (share, block) = (self.share(cut), self.share(o));
                let part = |labels: &[Label], all: f64| share * if labels.contains(&o) { all * block } else { all };
                let (a, b) = (part(left, a), part(right, b));
                let (shared, of_piece) = if left.contains(&split) { (b, a) } else { (a, b) };
                let pieces = most_pieces(c * block).min(pieces).max(2) as f64;
                let piece = self.piece(multiply_adds * share * block, shared, of_piece + 2.0 * c * block, pieces);
                self.ring(self.machine.ranks as f64 * pieces * piece, c * block, pieces, 2.0 * piece)
            }
        }
    }

    /// Predicted seconds of a grid: the busiest rank's operands come in rounds while it computes, the first with nothing to
    /// hide behind; what others have of its part of out comes when all is computed.
    fn grid(&self, grid: &Grid, tensors: [&[Label]; 3]) -> f64 {
        // All have such tiles; whom they share them with may be on other nodes.
        let (ranks, per_node) = (grid.ranks(), self.machine.ranks_per_node);
        let mut looked_at = if per_node > 1 { vec![0, per_node - 1, per_node, ranks / 2, ranks - 1] } else { vec![0] };
        looked_at.retain(|&rank| rank < ranks);
        looked_at.into_iter().map(|rank| self.grid_of(grid, tensors, rank)).fold(0.0, f64::max)
    }

    /// What the largest tiles take, for whom this rank shares its tiles with.
    fn grid_of(&self, grid: &Grid, tensors: [&[Label]; 3], rank: usize) -> f64 {
        let extent = |label: &Label| self.extents[label.0 as usize];
        let tile = |labels: &[Label]| -> f64 {
            labels.iter().map(|label| grid.tile(0, *label, extent(label)).len() as f64).product()
        };
        let mut all: Vec<Label> = tensors.concat();
        all.sort_unstable();
        all.dedup();
        let [left, right, out] = tensors.map(tile);
        let links = tensors.map(|labels| -> Vec<Link> {
            let others = grid.sharing(labels, rank).into_iter().filter(|&other| other != rank);
            others.map(|other| self.machine.link(rank, other)).collect()
        });
        // A part of the tile from each of those who need it, too.
        let receive = |elements: f64, links: &[Link]| -> f64 {
            let part = elements / (links.len() + 1) as f64 * self.dtype.size() as f64;
            links.iter().map(|link| link.latency + part / link.bandwidth).sum()
        };
        let gather = receive(left, &links[0]) + receive(right, &links[1]);
        let summands = if links[2].is_empty() { 0.0 } else { receive(out, &links[2]) + self.stream(3.0 * out) };
        let rounds = if gather > 0.0 { grid.rounds as f64 } else { 1.0 };
        let compute = rounds * self.piece(tile(&all), out, left + right, rounds);
        self.overlapped(compute, gather) + gather / rounds + summands
    }

    /// Predicted seconds of an algorithm that takes tensors as they lie: the busiest rank of those looked at computes or
    /// receives, whichever takes longer, and its first piece has nothing to hide behind.
    pub fn slicing(&self, algorithm: &Algorithm, lies: &[Tensor; 3]) -> f64 {
        let ranks = self.machine.ranks;
        let looked_at: Vec<usize> = (0..ranks).step_by(ranks.div_ceil(RANKS_LOOKED_AT)).collect();
        let busiest = looked_at.into_iter().map(|rank| {
            let mut builder = Builder::new(rank, ranks, self.dtype.size());
            let [left, right, out] = lies.each_ref().map(|tensor| tensor.clone().declared(&mut builder));
            algorithm.generate(&mut builder, &Contraction { left, right, out, onto: false });
            let schedule = builder.finish();
            let (mut compute, mut messages) = (0.0, 0.0f64);
            for task in &schedule.tasks {
                match &task.action {
                    Action::Recv { .. } => messages += 1.0,
                    Action::Work(work) => compute += self.work(&schedule, work),
                    Action::Send { .. } => {}
                }
            }
            let receive =
                messages * self.machine.link_latency + schedule.bytes_received() as f64 / self.machine.link_bandwidth;
            self.overlapped(compute, receive) + receive / messages.max(1.0)
        });
        busiest.fold(0.0, f64::max)
    }

    /// Predicted seconds of one task on all workers of a rank.
    pub fn work(&self, schedule: &Schedule, work: &Work) -> f64 {
        match work {
            Work::Contract { left, right, out, .. } => {
                let mut extents: Vec<(Label, usize)> = Vec::new();
                for view in [left, right, out] {
                    let labels = schedule.buffers[view.buffer].labels.iter();
                    extents.extend(labels.zip(&view.bounds).map(|(&label, range)| (label, range.len())));
                }
                extents.sort_unstable();
                extents.dedup();
                let products = extents.iter().map(|&(_, extent)| extent as f64).product();
                self.product(products, [left, right, out].iter().map(|view| view.elements() as f64).sum())
            }
            Work::Unary { input, out } | Work::Add { input, out } | Work::Update { input, out } => {
                self.stream((input.elements() + 2 * out.elements()) as f64)
            }
            Work::Fill { out } | Work::Scale { out, .. } => self.stream(out.elements() as f64),
        }
    }

    /// Predicted seconds of a unary step over tensors of these sizes.
    pub fn unary(&self, input: &[Label], out: &[Label], distribution: &Distribution) -> f64 {
        let parts = distribution.places() / distribution.replicas().max(1);
        self.stream(self.volume(input) + self.volume(out)) / parts.max(1) as f64
    }

    /// Predicted seconds of a redistribution: the busiest rank of those looked at receives what it does not hold already, in a
    /// message per peer.
    pub fn redistribution(&self, labels: &[Label], from: &Distribution, to: &Distribution) -> f64 {
        if from == to {
            return 0.0;
        }
        let shape: Vec<usize> = labels.iter().map(|label| self.extents[label.0 as usize]).collect();
        let (span, ranks) = (to.span(), to.places());
        let every = span.len().div_ceil(BLOCKS_LOOKED_AT).max(1);
        let missing = span.step_by(every).map(|rank| {
            let Some(need) = to.block(&shape, rank) else { return 0.0 };
            let have = from.block(&shape, rank).map_or(0, |have| have.intersect(&need).volume());
            need.volume() as f64 * from.summands() as f64 - have as f64
        });
        let missing: Vec<f64> = missing.collect();
        let all = missing.iter().sum::<f64>() / missing.len().max(1) as f64 * ranks as f64;
        let missing = missing.into_iter().fold(0.0, f64::max);
        // What replicas get they hand on; the rest leaves those who hold it.
        let sent = all / (to.replicas() * from.places().max(1)) as f64;
        let missing = missing.max(sent);
        if missing == 0.0 {
            return self.stream(2.0 * to.largest_block(&shape).iter().map(|&extent| extent as f64).product::<f64>());
        }
        let bytes = missing * self.dtype.size() as f64;
        bytes / self.machine.link_bandwidth + (from.places().max(1) as f64) * self.machine.link_latency
    }
}
