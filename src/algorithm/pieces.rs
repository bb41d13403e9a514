//! The pieces of an operand that a rank contracts, one per round: in place if in a single box of its block, else
//! gathered.

use std::borrow::Cow;

use super::contraction::Tensor;
use crate::distribution::{Bounds, Region};
use crate::schedule::{BufferId, Builder, View, Work};

/// A chunk is the products of a rank in one round.
pub trait Rounds {
    fn rounds_of(&self, rank: usize) -> usize;

    /// For a rank's chunk; `None` after its last.
    fn piece(&self, tensor: &Tensor, rank: usize, round: usize) -> Option<Region>;

    fn block(&self, tensor: &Tensor, rank: usize) -> Option<Cow<'_, Region>> {
        tensor.distribution.block(&tensor.shape, rank).map(Cow::Owned)
    }

    /// What `target` reads from `source`; none if it reads the boxes elsewhere.
    fn overlap(&self, tensor: &Tensor, piece: &Region, source: usize, _target: usize) -> Vec<Bounds> {
        self.block(tensor, source).map(|block| block.intersect(piece).boxes()).unwrap_or_default()
    }

    fn holds(&self, tensor: &Tensor, rank: usize, piece: &Region) -> bool {
        self.block(tensor, rank).is_some_and(|block| block.positions(piece).is_some())
    }
}

pub struct Pieces<'a, R> {
    rounds: &'a R,
    tensor: &'a Tensor,
    rank: usize,
    gathered: Vec<Option<Region>>,
    slots: Vec<BufferId>,
}

impl<'a, R: Rounds> Pieces<'a, R> {
    /// Declares at most `most` buffers for gathered pieces.
    pub fn new(builder: &mut Builder, rounds: &'a R, tensor: &'a Tensor, most: usize) -> Pieces<'a, R> {
        let rank = builder.rank();
        let chunks = (0..rounds.rounds_of(rank)).filter_map(|round| rounds.piece(tensor, rank, round));
        let buffered: Vec<Region> = chunks.filter(|piece| !rounds.holds(tensor, rank, piece)).collect();
        let largest = largest(&buffered);
        let slots = (0..buffered.len().min(most)).map(|_| tensor.scratch(builder, largest.clone())).collect();
        let gathered = (0..rounds.rounds_of(rank)).map(|round| gathered(rounds, tensor, rank, round)).collect();
        Pieces { rounds, tensor, rank, gathered, slots }
    }

    /// Sends the part of a gathered piece that `of` stores; only ranks whose pieces are equal forward those of others.
    /// `key` is the place among all transfers.
    pub fn send(&self, builder: &mut Builder, (of, target): (usize, usize), round: usize, key: [usize; 3]) {
        let Some(piece) = gathered(self.rounds, self.tensor, target, round) else { return };
        let boxes = self.rounds.overlap(self.tensor, &piece, of, target);
        let from = |bounds| if of == self.rank { self.view(bounds) } else { self.in_slot(&piece, round, bounds) };
        let from = boxes.iter().filter_map(from).collect();
        builder.send(target, from).carries_elements(key, || boxes);
    }

    /// Receives the part of a gathered piece that `of` stores.
    pub fn recv(&self, builder: &mut Builder, (of, source): (usize, usize), round: usize, key: [usize; 3]) {
        let Some(piece) = self.own(round) else { return };
        let boxes = self.rounds.overlap(self.tensor, piece, of, self.rank);
        let into = boxes.iter().filter_map(|bounds| self.in_slot(piece, round, bounds));
        builder.recv(source, into.collect()).carries_elements(key, || boxes);
    }

    /// Also appends copies of the rank's own part of a gathered piece.
    pub fn here(&self, builder: &mut Builder, round: usize) -> Option<View> {
        let Some(piece) = self.own(round) else {
            let piece = self.rounds.piece(self.tensor, self.rank, round)?;
            // Any buffer is valid for an empty piece.
            return self
                .tensor
                .stored(self.rank, &piece)
                .or_else(|| Some(View::corner(self.slots.first().copied().or(self.tensor.buffer)?, piece.extents())));
        };
        let buffer = self.slot(round)?;
        for bounds in self.rounds.overlap(self.tensor, piece, self.rank, self.rank) {
            if let (Some(input), Some(out)) = (self.view(&bounds), self.in_slot(piece, round, &bounds)) {
                builder.work(Work::Unary { input, out });
            }
        }
        Some(View::corner(buffer, piece.extents()))
    }

    fn view(&self, bounds: &Bounds) -> Option<View> {
        self.tensor.view_in(&*self.rounds.block(self.tensor, self.rank)?, bounds)
    }

    fn in_slot(&self, piece: &Region, round: usize, bounds: &Bounds) -> Option<View> {
        Some(View { buffer: self.slot(round)?, bounds: piece.locate(bounds)? })
    }

    fn own(&self, round: usize) -> Option<&Region> {
        self.gathered.get(round)?.as_ref()
    }

    fn slot(&self, round: usize) -> Option<BufferId> {
        self.slots.get(round % self.slots.len().max(1)).copied()
    }
}

/// The piece for a rank's chunk, unless it is read in place or empty.
fn gathered(rounds: &impl Rounds, tensor: &Tensor, rank: usize, round: usize) -> Option<Region> {
    let piece = rounds.piece(tensor, rank, round)?;
    (!piece.is_empty() && !rounds.holds(tensor, rank, &piece)).then_some(piece)
}

/// Extents that suffice for any one of these regions.
pub fn largest(regions: &[Region]) -> Vec<usize> {
    let dims = regions.first().map_or(0, |region| region.dims().len());
    (0..dims).map(|dim| regions.iter().map(|region| region.dims()[dim].len()).max().unwrap_or(0)).collect()
}
