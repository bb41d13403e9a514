//! Sends the summands (products of one chunk) of `out` if an operand is stationary, each overlap with a block to one of
//! its owners.
//!
//! Owners add in order of chunks, then of the distance between ranks.

use super::Stationary;
use super::geometry::Geometry;
use crate::algorithm::contraction::{Tensor, contract};
use crate::algorithm::pieces::{Rounds, largest};
use crate::distribution::{Bounds, Region};
use crate::schedule::{Accumulate, BufferId, Builder, CarriedSum, View, Work};

/// One summand is computed while the other is sent.
const SLOTS: usize = 2;

pub struct Products<'a> {
    geometry: &'a Geometry<'a>,
    rank: usize,
    computed: Vec<BufferId>,
    arriving: Vec<BufferId>,
}

impl<'a> Products<'a> {
    pub fn new(builder: &mut Builder, geometry: &'a Geometry<'a>) -> Products<'a> {
        let (rank, out) = (builder.rank(), &geometry.contraction.out);
        let mut products = Products { geometry, rank, computed: Vec::new(), arriving: Vec::new() };
        if geometry.stationary == Stationary::Out {
            return products;
        }
        let rounds = 0..geometry.rounds();
        let computed: Vec<Region> = rounds.clone().filter_map(|round| products.sent(rank, round)).collect();
        let extents = largest(&computed);
        products.computed = (0..computed.len().min(SLOTS)).map(|_| out.scratch(builder, extents.clone())).collect();
        let others = (0..geometry.ranks).filter(|&other| other != rank);
        let arriving: Vec<Region> = others
            .flat_map(|other| rounds.clone().map(move |round| (other, round)))
            .filter_map(|(other, round)| products.part_of(&products.sent(other, round)?, other, rank))
            .collect();
        let extents = largest(&arriving);
        products.arriving = (0..arriving.len().min(SLOTS)).map(|_| out.scratch(builder, extents.clone())).collect();
        products
    }

    /// `None` if the chunk is added directly to a single box of the rank's block.
    fn sent(&self, rank: usize, round: usize) -> Option<Region> {
        let out = &self.geometry.contraction.out;
        let region = self.geometry.chunks[rank].get(round)?.region(out);
        (!region.is_empty() && !self.geometry.holds(out, rank, &region)).then_some(region)
    }

    fn part_of(&self, region: &Region, maker: usize, holder: usize) -> Option<Region> {
        let out = &self.geometry.contraction.out;
        if self.geometry.overlap(out, region, holder, maker).is_empty() {
            return None;
        }
        Some(out.distribution.block(&out.shape, holder)?.intersect(region))
    }

    pub fn multiply(&self, builder: &mut Builder, left: View, right: View, round: usize, sums: &Tensor) {
        let out = &self.geometry.contraction.out;
        let Some(region) = self.sent(self.rank, round) else {
            let region = self.geometry.chunks[self.rank][round].region(out);
            if let Some(target) = sums.stored(self.rank, &region) {
                contract(builder, left, right, target, Accumulate::Add);
            }
            return;
        };
        if left.elements() == 0 || right.elements() == 0 {
            // The owners know that there is nothing to add.
            return;
        }
        let Some(buffer) = self.slot(&self.computed, round) else { return };
        contract(builder, left, right, View::corner(buffer, region.extents()), Accumulate::Overwrite);
        self.add(builder, &region, &self.geometry.overlap(out, &region, self.rank, self.rank), buffer, sums);
    }

    pub fn travel(&self, builder: &mut Builder, round: usize, sums: &Tensor) {
        let (geometry, me, ranks) = (self.geometry, self.rank, self.geometry.ranks);
        if geometry.stationary == Stationary::Out {
            return;
        }
        let out = &geometry.contraction.out;
        let own = self.sent(me, round).filter(|_| self.makes(me, round));
        for distance in 1..ranks {
            let (target, source) = ((me + distance) % ranks, (me + ranks - distance) % ranks);
            if let Some(region) = &own {
                let boxes = geometry.overlap(out, region, target, me);
                let buffer = self.slot(&self.computed, round);
                let from = boxes.iter().filter_map(|b| Some(View { buffer: buffer?, bounds: region.locate(b)? }));
                let sent = builder.send(target, from.collect());
                sent.carries([2 * round + 3, distance, 0], || (boxes, self.products(me, round)));
            }
            let Some(region) = self.sent(source, round).filter(|_| self.makes(source, round)) else { continue };
            let (Some(part), Some(buffer)) =
                (self.part_of(&region, source, me), self.slot(&self.arriving, round + distance))
            else {
                continue;
            };
            let boxes = geometry.overlap(out, &region, me, source);
            let into = boxes.iter().filter_map(|b| Some(View { buffer, bounds: part.locate(b)? }));
            let landed = builder.recv(source, into.collect());
            landed.carries([2 * round + 3, distance, 0], || (boxes.clone(), self.products(source, round)));
            self.add(builder, &part, &boxes, buffer, sums);
        }
    }

    fn products(&self, maker: usize, round: usize) -> CarriedSum {
        let share = &self.geometry.chunks[maker][round];
        CarriedSum::Products(vec![share.products(self.geometry.contraction)])
    }

    fn makes(&self, rank: usize, round: usize) -> bool {
        let share = &self.geometry.chunks[rank][round];
        let contraction = self.geometry.contraction;
        [&contraction.left, &contraction.right].iter().all(|tensor| !share.region(tensor).is_empty())
    }

    fn add(&self, builder: &mut Builder, region: &Region, boxes: &[Bounds], buffer: BufferId, sums: &Tensor) {
        for bounds in boxes {
            if let (Some(stored), Some(out)) = (region.locate(bounds), sums.view(self.rank, bounds)) {
                builder.work(Work::Add { input: View { buffer, bounds: stored }, out });
            }
        }
    }

    fn slot(&self, slots: &[BufferId], number: usize) -> Option<BufferId> {
        slots.get(number % slots.len().max(1)).copied()
    }
}
