//! `slicing`: any three distributions, aligned or not, with any replication of each, in any number of dimensions.
//!
//! Source: Brock and Golin, Slicing Is All You Need: Towards a Universal One-Sided Algorithm for Distributed Matrix
//! Multiplication (2025), sections 3 and 4; direct execution. One of the three tensors is stationary: a rank works on the
//! block of it that it holds, and gets the overlapping pieces of the other tensors from where they lie.
//!
//! ```text
//! mk,kn->mn with 4 of each on 2 ranks; left and out cut along m, right along k at 1; out is stationary. Rank 0:
//!   chunk k 0..1     has left [0..2, 0..1] and right [0..1, 0..4]                              out  = left right
//!   chunk k 1..4     has left [0..2, 1..4], gets right [1..4, 0..4] from rank 1                out += left right
//! ```
//!
//! | what | file |
//! |---|---|
//! | which indices a rank works on, in which chunks; who holds what | `geometry` |
//! | operands' pieces come | [`super::pieces`] |
//! | with a stationary operand, summands of out go | `products` |
//! | in which order they meet | `order` |
//! | in which order a rank's chunks are contracted | `reorder` |
//!
//! A rank receives what of its pieces it does not hold, each element once; with replicas of out, 2 (r - 1) / r of its block
//! more ([`super::replicas`]). All transfers come in rounds (chunk by chunk, then by distance of the ranks), which is their
//! total order; pieces of two more chunks travel while one is contracted (prefetching, section 4.2). Deliberately
//! absent: partial sums as inputs (they are redistributed before), and the geometry of fewer than all ranks.

mod geometry;
mod order;
mod products;
mod reorder;

use serde::{Deserialize, Serialize};

use self::geometry::Geometry;
pub use self::order::order;
use self::products::Products;
pub use self::reorder::Reorder;
use super::contraction::{Contraction, Tensor, contract};
use super::pieces::Pieces;
use super::replicas::add_replicas;
use crate::schedule::collective::CollectiveAlgorithm;
use crate::schedule::{Accumulate, Builder, Factor, View, Work};

/// Pieces in memory at once: one that is contracted, and two on their way.
const SLOTS: usize = 3;
/// How replicas of out add up what they have.
const REPLICAS: CollectiveAlgorithm = CollectiveAlgorithm::Direct;

/// The tensor that does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stationary {
    Left,
    Right,
    Out,
}

/// How a rank goes through its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Chunks {
    /// Their order.
    pub order: Reorder,
    /// Multiply-adds in the time in which an element comes from another rank: what orders by cost weigh with.
    pub balance: u64,
}

impl Stationary {
    pub const ALL: [Stationary; 3] = [Stationary::Out, Stationary::Left, Stationary::Right];

    pub const fn name(self) -> &'static str {
        match self {
            Stationary::Left => "left",
            Stationary::Right => "right",
            Stationary::Out => "out",
        }
    }
}

/// Appends this rank's tasks.
pub fn slicing(builder: &mut Builder, contraction: &Contraction, stationary: Stationary, chunks: Chunks) {
    let Contraction { out, onto, .. } = contraction;
    let geometry = Geometry::new(contraction, stationary, chunks, builder.ranks());
    let (me, ranks, chunks) = (builder.rank(), geometry.ranks, &geometry.chunks);
    let sums = Sums::new(builder, &geometry, *onto);
    let moving: Vec<Pieces<Geometry>> =
        geometry.moving().into_iter().map(|tensor| Pieces::new(builder, &geometry, tensor, SLOTS)).collect();
    let products = Products::new(builder, &geometry);
    let mut accumulate = sums.start(builder, &geometry);
    for round in 0..=geometry.rounds() {
        for distance in 1..ranks {
            let (target, source) = ((me + distance) % ranks, (me + ranks - distance) % ranks);
            for pieces in &moving {
                pieces.send(builder, target, round);
                pieces.recv(builder, source, round);
            }
        }
        if let Some(share) = chunks[me].get(round) {
            let views: Vec<View> = moving.iter().filter_map(|pieces| pieces.here(builder, round)).collect();
            let stays = geometry.stays().stored(me, &share.region(geometry.stays()));
            match (stationary, stays, views.as_slice()) {
                (Stationary::Out, Some(_), [left, right]) => {
                    let target = sums.tensor.stored(me, &share.region(out));
                    if let Some(target) = target {
                        contract(builder, left.clone(), right.clone(), target, accumulate);
                        accumulate = Accumulate::Add;
                    }
                }
                (Stationary::Left, Some(left), [right]) => {
                    products.multiply(builder, left, right.clone(), round, &sums.tensor);
                }
                (Stationary::Right, Some(right), [left]) => {
                    products.multiply(builder, left.clone(), right, round, &sums.tensor);
                }
                _ => {}
            }
        }
        // A round later, so that what the next chunk needs is not held up.
        if round > 0 {
            products.travel(builder, round - 1, &sums.tensor);
        }
    }
    if sums.replicated {
        add_replicas(builder, &sums.tensor, out, *onto, REPLICAS);
    }
}

/// Where this rank adds up: out itself, or a block of its own of which replicas of out make theirs.
struct Sums {
    tensor: Tensor,
    replicated: bool,
    onto: bool,
}

impl Sums {
    fn new(builder: &mut Builder, geometry: &Geometry, onto: bool) -> Sums {
        let out = &geometry.contraction.out;
        let replicated = out.distribution.replicas() > 1;
        let tensor = match out.own(builder.rank(), &[]) {
            Some(own) if replicated => {
                let extents = own.bounds.iter().map(ExactSizeIterator::len).collect();
                Tensor { buffer: Some(out.scratch(builder, extents)), window: None, ..out.clone() }
            }
            _ => out.clone(),
        };
        Sums { tensor, replicated, onto }
    }

    /// Zeros, or what the user has, where the first chunk does not write all of it; returns how that one is written.
    fn start(&self, builder: &mut Builder, geometry: &Geometry) -> Accumulate {
        let Some(own) = self.tensor.own(builder.rank(), &[]) else { return Accumulate::Add };
        let onto = self.onto && !self.replicated;
        let first = geometry.chunks[builder.rank()].first().filter(|_| geometry.stationary == Stationary::Out);
        let covers = first.is_some_and(|share| {
            self.tensor.stored(builder.rank(), &share.region(&self.tensor)).as_ref() == Some(&own)
        });
        if covers {
            return if onto { Accumulate::Beta } else { Accumulate::Overwrite };
        }
        if own.elements() > 0 {
            builder.work(if onto { Work::Scale { out: own, factor: Factor::Beta } } else { Work::Fill { out: own } });
        }
        Accumulate::Add
    }
}
