//! Implements `slicing`, the universal algorithm. It supports any three distributions, aligned or not, with any
//! replication of each tensor, in any number of dimensions.
//!
//! Source: Brock and Golin, Slicing Is All You Need: Towards a Universal One-Sided Algorithm for Distributed Matrix
//! Multiplication (2025), sections 3 and 4, with direct execution. One of the three tensors is stationary. A rank works
//! on its own block of that tensor, and receives the overlapping pieces of the other tensors from the ranks that store
//! them.
//!
//! ```text
//! mk,kn->mn with extents 4 on 2 ranks. m of left and out is cut evenly, k of right is cut at 1; out is stationary.
//! Rank 0:
//!   chunk k 0..1     stores left [0..2, 0..1] and right [0..1, 0..4]                           out  = left right
//!   chunk k 1..4     stores left [0..2, 1..4], receives right [1..4, 0..4] from rank 1         out += left right
//! ```
//!
//! | topic | file |
//! |---|---|
//! | the indices that a rank works on, its chunks, and the ranks that store the data | `geometry` |
//! | receiving pieces of operands | [`super::pieces`] |
//! | sending summands of `out`, if an operand is stationary | `products` |
//! | the order in which summands are added | `order` |
//! | the order in which a rank's chunks are contracted | [`super::reorder`] |
//!
//! A rank receives every element of its pieces once, unless it already has the element. With r replicas of `out`, it
//! also receives 2 (r - 1) / r times the size of its block of `out` ([`super::replicas`]). The total order of transfers
//! is by chunk, then by distance between the ranks. Pieces for two more chunks travel while one chunk is contracted
//! (prefetching, section 4.2). Inputs that are partial sums are redistributed first.

mod geometry;
mod order;
mod products;

use serde::{Deserialize, Serialize};

use self::geometry::Geometry;
use self::products::Products;
use super::contraction::{Contraction, Tensor, contract};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, Setting};
use super::pieces::Pieces;
use super::reorder::Reorder;
use super::replicas::add_replicas;
use crate::dims::{Kinds, Label};
use crate::schedule::collective::CollectiveAlgorithm;
use crate::schedule::verify::Order;
use crate::schedule::{Accumulate, Builder, Factor, View, Work};

/// The number of pieces of an operand that are in memory at the same time. One piece is contracted while two travel.
const SLOTS: usize = 3;
/// The collective that sums `out` over its replicas.
const REPLICAS: CollectiveAlgorithm = CollectiveAlgorithm::Direct;

/// The tensor that stays in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stationary {
    Left,
    Right,
    Out,
}

/// The order of a rank's chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Chunks {
    /// The kind of order.
    pub order: Reorder,
    /// The number of multiply-adds that a rank computes while one element arrives from another rank. Orders by cost use
    /// this number to compare transfers with computing.
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

/// All three tensors can have any distributions, and pieces travel to the blocks of the stationary tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slicing {
    pub stationary: Stationary,
    pub chunks: Chunks,
}

/// Returns one candidate for each stationary tensor, if the user forced this algorithm or prescribed a distribution. If
/// the planner chooses all distributions, no candidates are needed because other algorithms move no more words.
pub fn candidates(setting: &Setting) -> Vec<Slicing> {
    if !setting.forced && !setting.fixed {
        return Vec::new();
    }
    let order = setting.reorder;
    let weighs = matches!(order, Reorder::ByCost | Reorder::Exhaustive);
    let chunks = Chunks { order, balance: if weighs { setting.machine.balance(setting.dtype.size()) } else { 0 } };
    Stationary::ALL.map(|stationary| Slicing { stationary, chunks }).into()
}

impl Generator for Slicing {
    fn cuts(&self) -> Vec<Label> {
        Vec::new()
    }

    fn parameters(&self, _: &dyn Fn(Label) -> String) -> Vec<String> {
        let order = Some(self.chunks.order.name()).filter(|_| self.chunks.order != Reorder::Direct);
        [format!("{} stays", self.stationary.name())].into_iter().chain(order.map(str::to_owned)).collect()
    }

    fn applies(&self, _: &Kinds) -> bool {
        true
    }

    fn distributions(&self, _: [&[Label]; 3], _: usize) -> Option<Distributions> {
        None
    }

    fn order(&self, contraction: &Contraction, ranks: usize) -> Order {
        Order::Listed(order::order(contraction, self.stationary, self.chunks, ranks))
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        slicing(builder, contraction, self.stationary, self.chunks);
    }

    /// Seconds for computing only. Transfers depend on the distributions, so the planner prices them from schedules.
    fn seconds(&self, contracted: &Contracted) -> f64 {
        contracted.share(1.0 / contracted.ranks() as f64)
    }

    fn words_received(&self, _: &Contraction, _: usize, _: usize) -> Option<u64> {
        None
    }
}

/// Appends this rank's tasks.
fn slicing(builder: &mut Builder, contraction: &Contraction, stationary: Stationary, chunks: Chunks) {
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
        // Summands travel one round after they are computed, so that they do not delay the pieces for the next chunk.
        if round > 0 {
            products.travel(builder, round - 1, &sums.tensor);
        }
    }
    if sums.replicated {
        add_replicas(builder, &sums.tensor, out, *onto, REPLICAS);
    }
}

/// The tensor in which this rank accumulates sums. If `out` has no replicas, this is `out` itself. Otherwise, this is a
/// scratch block, which is summed over the replicas at the end.
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

    /// Initializes the block with zeros, or with `beta` times the user's values, unless the first chunk writes the
    /// whole block. Returns the mode in which the first chunk is accumulated.
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
