//! Redistribution between any two distributions: only overlaps travel.
//!
//! ```text
//! [4, 4] from rows over 2 ranks to columns over 2 ranks
//!   rank 0: [0..2, 0..4] -> [0..4, 0..2]      keeps [0..2, 0..2], sends [0..2, 2..4] to 1
//!   rank 1: [2..4, 0..4] -> [0..4, 2..4]      keeps [2..4, 2..4], sends [2..4, 0..2] to 0
//! ```
//!
//! A rank takes what it has from itself, the rest from one replica of each source block, all boxes from one peer in one
//! transfer. Summands of a partial source are added in ascending order, so bits repeat. Of a partial target, the first
//! summand gets the values and the others zeros. Rounds pair rank r with r + round, so no rank is everybody's first target.

use super::contraction::Tensor;
use crate::dist::{Bounds, Region};
use crate::schedule::{Builder, View, Work};

/// The boxes that `target` takes from `source` (ranks), in coordinates of the tensor.
fn wanted(from: &Tensor, to: &Tensor, source: usize, target: usize) -> Vec<Bounds> {
    if to.distribution.summand(target) != Some(0) || from.distribution.replica_for(source, target) != Some(source) {
        return Vec::new();
    }
    let blocks = (from.distribution.block(&from.shape, source), to.distribution.block(&to.shape, target));
    match blocks {
        (Some(have), Some(need)) => have.intersect(&need).boxes(),
        _ => Vec::new(),
    }
}

fn views(tensor: &Tensor, rank: usize, boxes: &[Bounds]) -> Vec<View> {
    boxes.iter().filter_map(|bounds| tensor.view(rank, bounds)).collect()
}

/// Appends this rank's part of moving `from` to `to`: the same tensor in two distributions.
pub fn redistribute(builder: &mut Builder, from: &Tensor, to: &Tensor) {
    let (rank, ranks) = (builder.rank(), builder.ranks());
    let summands = from.distribution.summands();
    let need = to.distribution.block(&to.shape, rank).filter(|_| to.distribution.summand(rank) == Some(0));
    if let (Some(zeros), None) = (to.own(rank, &[]).filter(|zeros| zeros.elements() > 0), &need) {
        builder.work(Work::Fill { out: zeros });
    }
    // Later summands arrive in two scratch blocks in turn, and are added in place.
    let largest = need.as_ref().map(Region::extents).filter(|_| summands > 1);
    let scratch: Vec<_> = largest
        .iter()
        .flat_map(|extents| [0, 1].map(|_| Tensor { buffer: Some(to.scratch(builder, extents.clone())), ..to.clone() }))
        .collect();

    let peers = Peers::new(from, to, rank, ranks);
    for summand in 0..summands {
        let landing = if summand == 0 { to } else { scratch.get(summand % 2).unwrap_or(to) };
        for &round in &peers.rounds {
            let (target, source) = ((rank + round) % ranks, (rank + ranks - round) % ranks);
            if from.distribution.summand(rank) == Some(summand) {
                builder.send(target, views(from, rank, &wanted(from, to, rank, target)));
            }
            if from.distribution.summand(source) == Some(summand) {
                builder.recv(source, views(landing, rank, &wanted(from, to, source, rank)));
            }
        }
        for &source in peers.sources.iter().filter(|&&source| from.distribution.summand(source) == Some(summand)) {
            let boxes = wanted(from, to, source, rank);
            let have = if source == rank { from } else { landing };
            for (input, out) in views(have, rank, &boxes).into_iter().zip(views(to, rank, &boxes)) {
                if summand > 0 {
                    builder.work(Work::Add { input, out });
                } else if source == rank {
                    builder.work(Work::Unary { input, out });
                }
            }
        }
    }
}

/// The ranks that may have something to do with one of them.
struct Peers {
    /// Those of which it takes, itself among them.
    sources: Vec<usize>,
    /// How far it is to those that it gives to, and from those that it takes from; the nearest first.
    rounds: Vec<usize>,
}

impl Peers {
    fn new(from: &Tensor, to: &Tensor, rank: usize, ranks: usize) -> Peers {
        let meeting = |there: &Tensor, here: &Tensor| {
            let block = here.distribution.block(&here.shape, rank);
            block.map(|block| there.distribution.meeting(&there.shape, &block)).unwrap_or_default()
        };
        let (sources, targets) = (meeting(from, to), meeting(to, from));
        let behind = sources.iter().map(|&source| (rank + ranks - source) % ranks);
        let ahead = targets.iter().map(|&target| (target + ranks - rank) % ranks);
        let mut rounds: Vec<usize> = behind.chain(ahead).filter(|&round| round > 0).collect();
        rounds.sort_unstable();
        rounds.dedup();
        Peers { sources, rounds }
    }
}
