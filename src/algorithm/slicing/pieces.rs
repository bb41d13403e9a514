//! The pieces of one operand: read in place where a rank has all of one as a box of its block, else put together from the
//! blocks of all ranks, its own among them.

use super::geometry::{Geometry, Share};
use crate::algorithm::contraction::Tensor;
use crate::dist::Region;
use crate::schedule::{BufferId, Builder, View, Work};

/// Pieces in memory at once: one that is contracted, and two on their way.
const SLOTS: usize = 3;

/// One operand, as one rank sees it.
pub struct Pieces<'a> {
    geometry: &'a Geometry<'a>,
    tensor: &'a Tensor,
    rank: usize,
    slots: Vec<BufferId>,
}

impl<'a> Pieces<'a> {
    pub fn new(builder: &mut Builder, geometry: &'a Geometry<'a>, tensor: &'a Tensor) -> Pieces<'a> {
        let rank = builder.rank();
        let chunks = geometry.chunks[rank].iter().map(|share| share.region(tensor));
        let gathered: Vec<Region> = chunks.filter(|piece| !geometry.holds(tensor, rank, piece)).collect();
        let largest = largest(&gathered);
        let slots = (0..gathered.len().min(SLOTS)).map(|_| tensor.scratch(builder, largest.clone())).collect();
        Pieces { geometry, tensor, rank, slots }
    }

    /// The piece of a rank's chunk, if it comes from several places.
    fn gathered(&self, rank: usize, round: usize) -> Option<Region> {
        let piece = self.geometry.chunks[rank].get(round).map(|share: &Share| share.region(self.tensor))?;
        (!piece.is_empty() && !self.geometry.holds(self.tensor, rank, &piece)).then_some(piece)
    }

    /// What this rank has of a piece of another.
    pub fn send(&self, builder: &mut Builder, target: usize, round: usize) {
        let Some(piece) = self.gathered(target, round) else { return };
        let boxes = self.geometry.overlap(self.tensor, &piece, self.rank, target);
        builder.send(target, boxes.iter().filter_map(|bounds| self.tensor.view(self.rank, bounds)).collect());
    }

    /// What another rank has of a piece of this one.
    pub fn recv(&self, builder: &mut Builder, source: usize, round: usize) {
        let Some(piece) = self.gathered(self.rank, round) else { return };
        let boxes = self.geometry.overlap(self.tensor, &piece, source, self.rank);
        let into =
            boxes.iter().filter_map(|bounds| Some(View { buffer: self.slot(round)?, bounds: piece.locate(bounds)? }));
        builder.recv(source, into.collect());
    }

    /// The piece of this rank's chunk, to which its own part is added.
    pub fn here(&self, builder: &mut Builder, round: usize) -> Option<View> {
        let Some(piece) = self.gathered(self.rank, round) else {
            let piece = self.geometry.chunks[self.rank].get(round)?.region(self.tensor);
            // Nothing has no place.
            return self.tensor.stored(self.rank, &piece).or_else(|| {
                let bounds = piece.extents().into_iter().map(|extent| 0..extent).collect();
                Some(View { buffer: self.slots.first().copied().or(self.tensor.buffer)?, bounds })
            });
        };
        let buffer = self.slot(round)?;
        for bounds in self.geometry.overlap(self.tensor, &piece, self.rank, self.rank) {
            if let (Some(input), Some(bounds)) = (self.tensor.view(self.rank, &bounds), piece.locate(&bounds)) {
                builder.work(Work::Unary { input, out: View { buffer, bounds } });
            }
        }
        Some(View { buffer, bounds: piece.extents().into_iter().map(|extent| 0..extent).collect() })
    }

    fn slot(&self, round: usize) -> Option<BufferId> {
        self.slots.get(round % self.slots.len().max(1)).copied()
    }
}

/// The extents of a buffer that any of these fits into.
pub fn largest(regions: &[Region]) -> Vec<usize> {
    let dims = regions.first().map_or(0, |region| region.dims().len());
    (0..dims).map(|dim| regions.iter().map(|region| region.dims()[dim].len()).max().unwrap_or(0)).collect()
}
