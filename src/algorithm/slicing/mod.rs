//! `slicing`, for any distributions of the three tensors.
//!
//! Source: Brock and Golin, Slicing Is All You Need: Towards a Universal One-Sided Algorithm for Distributed Matrix
//! Multiplication (2025), sections 3 and 4 ("direct execution"). Each rank computes the products of its block of the
//! stationary tensor, which is not transferred, in chunks of one task each.
//!
//! Transfers are ordered by chunk, then by the distance of the ranks. Operands with partial sums are redistributed
//! first.

mod geometry;
mod products;

use serde::{Deserialize, Serialize};

use self::geometry::{Geometry, WorkShare};
use self::products::Products;
use super::contraction::{Contraction, Tensor, contract};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, Setting};
use super::pieces::{Pieces, Rounds};
use super::reorder::Reorder;
use super::replicas::{self, add_replicas};
use crate::dims::{Kinds, Label};
use crate::schedule::collective::CollectiveAlgorithm;
use crate::schedule::verify::{Order, Summand};
use crate::schedule::{Accumulate, Builder, Factor, View, Work};

/// One received piece of an operand is contracted while two arrive.
const SLOTS: usize = 3;
/// Sums `out` over its replicas.
const REPLICAS: CollectiveAlgorithm = CollectiveAlgorithm::Direct;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stationary {
    Left,
    Right,
    Out,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Chunks {
    pub order: Reorder,
    /// The multiply-adds in the time for receiving one element, for `ByCost` and `Exhaustive`.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slicing {
    pub stationary: Stationary,
    pub chunks: Chunks,
}

/// Only if the user prescribes an algorithm or a distribution: the best other one transfers no more words.
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

    fn order(&self, contraction: &Contraction, of: &[usize], ranks: usize) -> Order {
        let all = order(contraction, self.stationary, self.chunks, ranks);
        let wanted = all.into_iter().enumerate().filter(|(rank, _)| of.binary_search(rank).is_ok());
        Order::Listed(wanted.map(|(rank, summands)| (rank, summands.into())).collect())
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        slicing(builder, contraction, self.stationary, self.chunks);
    }

    /// For computing only; the planner predicts transfers from schedules.
    fn seconds(&self, contracted: &Contracted) -> f64 {
        contracted.share(1.0 / contracted.ranks() as f64)
    }

    fn words_received(&self, _: &Contraction, _: usize, _: usize) -> Option<u64> {
        None
    }
}

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
            for (at, pieces) in moving.iter().enumerate() {
                pieces.send(builder, (me, target), round, [2 * round, distance, at]);
                pieces.recv(builder, (source, source), round, [2 * round, distance, at]);
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
        // Summands are sent one round later, after pieces for the next chunk.
        if round > 0 {
            products.travel(builder, round - 1, &sums.tensor);
        }
    }
    if sums.replicated {
        add_replicas(builder, &sums.tensor, out, *onto, REPLICAS);
    }
}

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

    /// Zeroes or scales the block, unless the first chunk writes all of it.
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

/// Each rank's summands (products of one chunk), in order: if an operand is stationary, those of other ranks follow one
/// round later. Those of the all-reduce over replicas come last.
fn order(contraction: &Contraction, stationary: Stationary, chunks: Chunks, ranks: usize) -> Vec<Vec<Summand>> {
    let geometry = Geometry::new(contraction, stationary, chunks, ranks);
    let summand =
        |share: &WorkShare| Summand { of: share.region(&contraction.out), products: share.products(contraction) };
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
                let arriving = (1..ranks).map(|distance| (rank + ranks - distance) % ranks);
                summands.extend(arriving.filter_map(|maker| arriving_summand(maker, round.checked_sub(1)?)));
            }
            summands
        })
        .collect();
    replicas::order(&contraction.out, &own, REPLICAS)
}
