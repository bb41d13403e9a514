//! `master-worker`: rank 0 has all tensors, sends the others (workers) the operands for their parts, and computes one
//! part.
//!
//! Source: J. Dressler, Scaling Out (Jena 2025), section 4. Transfers start with an operand that is not cut, then the
//! chunks of cut operands, each followed by the previous chunk of `out`. Those of a chunk are in order of ranks.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::contraction::{Contraction, Tensor, contract, most_pieces};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, Setting, is};
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::{Bounds, Distribution, tile_bounds};
use crate::machine::Machine;
use crate::schedule::{Accumulate, BufferId, Builder, View, Work};

/// Ranks compute consecutive parts of `cut`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MasterWorker {
    pub cut: Label,
    pub ends: Ends,
}

/// The index before which each rank's part ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Ends {
    /// Of even parts on this many ranks.
    Even(usize),
    Listed(Vec<usize>),
}

impl Ends {
    fn ranks(&self) -> usize {
        match self {
            Ends::Even(ranks) => *ranks,
            Ends::Listed(ends) => ends.len(),
        }
    }

    fn part(&self, extent: usize, rank: usize) -> Range<usize> {
        match self {
            Ends::Even(ranks) => tile_bounds(extent, *ranks, rank),
            Ends::Listed(ends) => rank.checked_sub(1).map_or(0, |last| ends[last])..ends[rank],
        }
    }
}

pub fn candidates(setting: &Setting) -> Vec<MasterWorker> {
    let cuts = setting.kinds.c.iter().chain(&setting.kinds.m).chain(&setting.kinds.n);
    let parts = |cut: Label| MasterWorker { cut, ends: ends(setting.machine, setting.extent(cut)) };
    cuts.map(|&cut| parts(cut)).collect()
}

/// Parts are in proportion to the ranks' speeds.
fn ends(machine: &Machine, extent: usize) -> Ends {
    let ranks = machine.ranks;
    if machine.speeds.is_empty() {
        return Ends::Even(ranks);
    }
    let speeds = || (0..ranks).map(|rank| machine.speed(rank));
    let all: f64 = speeds().sum();
    let mut sum = 0.0;
    let mut ends: Vec<usize> = speeds()
        .map(|speed| {
            sum += speed;
            (extent as f64 * sum / all).round() as usize
        })
        .collect();
    // Rounding must not drop the last indices.
    ends.last_mut().into_iter().for_each(|last| *last = extent);
    Ends::Listed(ends)
}

impl Generator for MasterWorker {
    fn cuts(&self) -> Vec<Label> {
        vec![self.cut]
    }

    fn applies(&self, kinds: &Kinds) -> bool {
        is(kinds, self.cut, &[Kind::C, Kind::M, Kind::N])
    }

    fn distributions(&self, _: [&[Label]; 3], _: usize) -> Option<Distributions> {
        let single = Distribution::single;
        Some(Distributions { left: single(), right: single(), out: single() })
    }

    fn holds_whole(&self) -> bool {
        true
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        master_worker(builder, contraction, self.cut, &self.ends);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        let (&MasterWorker { cut, ref ends }, cost) = (self, contracted.cost);
        let extent = cost.extents[cut.0 as usize];
        // Of even parts, the first is among the longest.
        let ranks = if matches!(ends, Ends::Even(_)) { 0..1 } else { 0..ends.ranks() };
        let parts = || ranks.clone().map(|rank| (rank, ends.part(extent, rank).len() as f64 / extent.max(1) as f64));
        let slowest = parts().map(|(rank, part)| part / cost.machine.speed(rank)).fold(0.0, f64::max);
        let workers = contracted.ranks() as f64 - 1.0;
        let share = parts().map(|(_, part)| part).fold(0.0, f64::max);
        let part = |tensor: usize| {
            contracted.elements[tensor] * if contracted.tensors[tensor].contains(&cut) { share } else { 1.0 }
        };
        let [a, b, c] = [0, 1, 2].map(part);
        let compute = cost.product(contracted.multiply_adds * slowest, a + b + c);
        // All transfers pass rank 0.
        let through = workers * (cost.transfer(a) + cost.transfer(b) + cost.transfer(c));
        let chunk = if workers > 0.0 { compute / most_pieces(a + b + c) as f64 } else { 0.0 };
        cost.overlapped(compute, through) + chunk
    }

    fn words_received(&self, contraction: &Contraction, rank: usize, _: usize) -> Option<u64> {
        let Contraction { left, right, out, .. } = contraction;
        let part = |tensor: &Tensor, rank: usize| {
            tensor.elements_of(|label| (label == self.cut).then(|| self.ends.part(tensor.extent(label), rank).len()))
        };
        Some(match rank {
            // The cut dimension is in `out`.
            0 => out.elements_of(|_| None) - part(out, 0),
            _ if rank < self.ends.ranks() => part(left, rank) + part(right, rank),
            _ => 0,
        })
    }
}

const SLOTS: usize = 2;

struct Shares<'a> {
    contraction: &'a Contraction,
    cut: Label,
    ends: &'a Ends,
    /// Of the cut dimension.
    extent: usize,
    chunks: usize,
}

impl Shares<'_> {
    fn chunk(&self, rank: usize, chunk: usize) -> Range<usize> {
        let part = self.ends.part(self.extent, rank);
        let tile = tile_bounds(part.len(), self.chunks, chunk);
        part.start + tile.start..part.start + tile.end
    }

    fn longest(&self, ranks: Range<usize>) -> usize {
        ranks.map(|rank| self.chunk(rank, 0).len()).max().unwrap_or(0)
    }

    fn on_master(&self, tensor: &Tensor, rank: usize, chunk: usize) -> Option<View> {
        let restricted = (self.cut, self.chunk(rank, chunk));
        let cut = tensor.labels.contains(&self.cut);
        tensor.own(0, if cut { std::slice::from_ref(&restricted) } else { &[] })
    }

    fn box_of(&self, tensor: &Tensor, rank: usize, chunk: usize) -> Bounds {
        let whole = tensor.labels.iter().zip(&tensor.shape);
        whole.map(|(&label, &extent)| if label == self.cut { self.chunk(rank, chunk) } else { 0..extent }).collect()
    }

    fn stored_chunk(&self, tensor: &Tensor, rank: usize, chunk: usize, buffer: BufferId) -> View {
        let extents = tensor
            .labels
            .iter()
            .zip(&tensor.shape)
            .map(|(&label, &extent)| if label == self.cut { self.chunk(rank, chunk).len() } else { extent });
        View::corner(buffer, extents)
    }

    fn scratch(&self, builder: &mut Builder, tensor: &Tensor, ranks: Range<usize>) -> BufferId {
        let longest = self.longest(ranks);
        let extents = tensor.labels.iter().zip(&tensor.shape);
        let extents = extents.map(|(&label, &extent)| if label == self.cut { longest } else { extent }).collect();
        tensor.scratch(builder, extents)
    }
}

fn master_worker(builder: &mut Builder, contraction: &Contraction, cut: Label, ends: &Ends) {
    let Contraction { left, right, out, .. } = contraction;
    let elements: f64 = [left, right, out].map(|tensor| tensor.shape.iter().product::<usize>() as f64).iter().sum();
    let chunks = most_pieces(elements / ends.ranks() as f64);
    let shares = Shares { contraction, cut, ends, extent: out.extent(cut), chunks };
    match builder.rank() {
        0 => master(builder, &shares),
        rank if rank < ends.ranks() => worker(builder, &shares, rank),
        _ => {}
    }
}

fn master(builder: &mut Builder, shares: &Shares) {
    let Contraction { left, right, out, onto } = shares.contraction;
    let ranks = shares.ends.ranks();
    let is_cut = |tensor: &Tensor| tensor.labels.contains(&shares.cut);
    for tensor in [left, right].into_iter().filter(|tensor| !is_cut(tensor)) {
        for rank in 1..ranks {
            let whole = || vec![tensor.block(0)];
            builder
                .send(rank, shares.on_master(tensor, rank, 0).into_iter().collect())
                .carries_elements([0, rank, 0], whole);
        }
    }
    // Results to be added to old values arrive in two alternating buffers.
    let slots: Vec<BufferId> = if *onto && ranks > 1 {
        (0..SLOTS).map(|_| shares.scratch(builder, out, 1..ranks)).collect()
    } else {
        Vec::new()
    };
    for chunk in 0..=shares.chunks {
        for rank in (1..ranks).filter(|_| chunk < shares.chunks) {
            for (at, tensor) in [left, right].into_iter().enumerate().filter(|(_, tensor)| is_cut(tensor)) {
                let from = shares.on_master(tensor, rank, chunk).into_iter().collect();
                let boxes = || vec![shares.box_of(tensor, rank, chunk)];
                builder.send(rank, from).carries_elements([2 * chunk + 1, rank, at], boxes);
            }
        }
        if chunk < shares.chunks
            && let [Some(left), Some(right), Some(out)] =
                [left, right, out].map(|tensor| shares.on_master(tensor, 0, chunk))
        {
            contract(builder, left, right, out, shares.contraction.first());
        }
        let Some(done) = chunk.checked_sub(1) else { continue };
        for rank in 1..ranks {
            let Some(target) = shares.on_master(out, rank, done).filter(|target| target.elements() > 0) else {
                continue;
            };
            let boxes = || vec![shares.box_of(out, rank, done)];
            if slots.is_empty() {
                builder.recv(rank, vec![target]).carries_elements([2 * chunk + 2, rank, 0], boxes);
                continue;
            }
            let input = shares.stored_chunk(out, rank, done, slots[rank % SLOTS]);
            builder.recv(rank, vec![input.clone()]).carries_elements([2 * chunk + 2, rank, 0], boxes);
            builder.work(Work::Update { input, out: target });
        }
    }
}

fn worker(builder: &mut Builder, shares: &Shares, rank: usize) {
    let Contraction { left, right, out, .. } = shares.contraction;
    let is_cut = |tensor: &Tensor| tensor.labels.contains(&shares.cut);
    let operands = [left, right].map(|tensor| {
        let slots = if is_cut(tensor) { SLOTS } else { 1 };
        (tensor, (0..slots).map(|_| shares.scratch(builder, tensor, rank..rank + 1)).collect::<Vec<_>>())
    });
    let results: Vec<BufferId> = (0..SLOTS).map(|_| shares.scratch(builder, out, rank..rank + 1)).collect();
    let on_worker = |(tensor, slots): &(&Tensor, Vec<BufferId>), chunk: usize| {
        shares.stored_chunk(tensor, rank, chunk, slots[chunk % slots.len()])
    };
    // Workers without a part receive it too.
    for operand in operands.iter().filter(|(tensor, _)| !is_cut(tensor)) {
        builder.recv(0, vec![on_worker(operand, 0)]).carries_elements([0, rank, 0], || vec![operand.0.block(0)]);
    }
    for chunk in 0..=shares.chunks {
        let cut = |(_, (tensor, _)): &(usize, &(&Tensor, _))| is_cut(tensor) && chunk < shares.chunks;
        for (at, operand) in operands.iter().enumerate().filter(cut) {
            let boxes = || vec![shares.box_of(operand.0, rank, chunk)];
            builder.recv(0, vec![on_worker(operand, chunk)]).carries_elements([2 * chunk + 1, rank, at], boxes);
        }
        if chunk < shares.chunks {
            let result = shares.stored_chunk(out, rank, chunk, results[chunk % SLOTS]);
            contract(
                builder,
                on_worker(&operands[0], chunk),
                on_worker(&operands[1], chunk),
                result,
                Accumulate::Overwrite,
            );
        }
        if let Some(done) = chunk.checked_sub(1) {
            let boxes = || vec![shares.box_of(out, rank, done)];
            let from = vec![shares.stored_chunk(out, rank, done, results[done % SLOTS])];
            builder.send(0, from).carries_elements([2 * chunk + 2, rank, 0], boxes);
        }
    }
}

#[cfg(test)]
mod tests;
