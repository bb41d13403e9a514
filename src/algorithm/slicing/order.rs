//! Computes the order of each rank's sums for its block of `out`, against which schedules are verified. In round r,
//! every rank contracts its chunk number r.

use super::geometry::{Geometry, WorkShare};
use super::{Chunks, REPLICAS, Stationary};
use crate::algorithm::contraction::Contraction;
use crate::algorithm::pieces::Rounds;
use crate::algorithm::replicas;
use crate::dims::Label;
use crate::distribution::{Intervals, Region};
use crate::schedule::verify::Summand;

/// Returns, for each rank, the summands (products of one chunk) of its block of `out` in order of addition. Its own
/// precede those of the all-reduce over replicas. If an operand is stationary, summands that other ranks compute in
/// round r - 1 follow its own of round r.
pub fn order(contraction: &Contraction, stationary: Stationary, chunks: Chunks, ranks: usize) -> Vec<Vec<Summand>> {
    let geometry = Geometry::new(contraction, stationary, chunks, ranks);
    let summed: Vec<Label> =
        contraction.left.labels.iter().copied().filter(|label| !contraction.out.labels.contains(label)).collect();
    let summand = |share: &WorkShare| Summand {
        of: share.region(&contraction.out),
        products: Region::from(summed.iter().map(|&label| share.of(label).clone()).collect::<Vec<Intervals>>()),
    };
    let own: Vec<Vec<Summand>> = (0..ranks)
        .map(|rank| {
            let computed = |maker: usize, round: usize| geometry.chunks[maker].get(round).map(&summand);
            if stationary == Stationary::Out {
                return (0..geometry.rounds()).filter_map(|round| computed(rank, round)).collect();
            }
            let out = &contraction.out;
            let arriving_summand = |maker: usize, round: usize| {
                // Only one replica of a block receives each summand.
                computed(maker, round).filter(|summand| !geometry.overlap(out, &summand.of, rank, maker).is_empty())
            };
            let mut summands = Vec::new();
            for round in 0..=geometry.rounds() {
                summands.extend(arriving_summand(rank, round));
                // Summands of other ranks arrive one round later.
                let arriving = (1..ranks).map(|distance| (rank + ranks - distance) % ranks);
                summands.extend(arriving.filter_map(|maker| arriving_summand(maker, round.checked_sub(1)?)));
            }
            summands
        })
        .collect();
    replicas::order(&contraction.out, &own, REPLICAS)
}
