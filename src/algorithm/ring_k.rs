//! `ring-k`: both operands are cut along k; partial sums of out travel the ring and grow.
//!
//! Source: thesis, section 5.3, Algorithm 4; reduce-scatter matrix multiplication. Every block of out is cut into pieces along
//! a second dimension (or the cut one), so that one piece is computed while others travel: two, more of large blocks.
//!
//! ```text
//! mk,kn->mn on 2 ranks, rank 0: block 0 of out is its own, pieces a and b
//!   step 0    block 1a  = left right            -
//!   step 1    block 1b  = left right            sends 1a to 1, receives 0a from 1
//!   step 2    block 0a += left right            sends 1b to 1, receives 0b from 1
//!   step 3    block 0b += left right            -
//! ```
//!
//! With s pieces, at step j rank i computes piece j mod s of block (i + 1 + j/s) mod p, on top of what rank i+1 has computed
//! s steps before. It receives (p-1)/p of out. Slots of one piece each, s + 1 of them, take turns to receive, compute and
//! send; s of them lie in the rank's own block of out, where the last s steps leave the result, so the extra memory is one
//! piece. A slot that the own block cannot hold (uneven blocks or pieces) is an exchange buffer, and the last steps copy out
//! of it.
//!
//! Added onto an existing out, the travelling sums keep out of the user's block: all slots are exchange buffers, and the
//! owner adds what arrives onto `beta out + left right`.

use std::ops::Range;

use super::contraction::{Contraction, Tensor, contract, corner, most_pieces};
use super::local::local;
use crate::dims::Label;
use crate::dist::{Bounds, tile_bounds};
use crate::schedule::{Accumulate, BufferId, Builder, View, Work};

/// A place for one travelling piece.
enum Slot {
    /// A piece of the rank's own block of out.
    Own(Bounds),
    Exchange(BufferId),
}

impl Slot {
    fn view(&self, out: BufferId, piece: &[Range<usize>]) -> View {
        match self {
            Slot::Exchange(buffer) => corner(*buffer, piece),
            Slot::Own(place) => {
                let bounds = place.iter().zip(piece).map(|(p, r)| p.start..p.start + r.len()).collect();
                View { buffer: out, bounds }
            }
        }
    }
}

/// How a block of out is cut.
#[derive(Clone, Copy)]
struct Split {
    label: Label,
    pieces: usize,
}

impl Split {
    /// The same for every rank's block: as many pieces as pay off, of equal size in the largest block where that is possible,
    /// since equal pieces fit into the block that they are pieces of.
    fn new(out: &Tensor, label: Label) -> Split {
        let largest = out.distribution.largest_block(&out.shape);
        let length = largest[out.dim(label)];
        let most = most_pieces(&largest).min(length).max(2);
        let equal = (2..=most).rev().find(|pieces| length.is_multiple_of(*pieces));
        Split { label, pieces: equal.unwrap_or(most) }
    }

    /// Piece `which` of the block of `owner`, as a box of the tensor.
    fn piece(self, out: &Tensor, owner: usize, which: usize) -> Bounds {
        let mut bounds = out.block(owner);
        let range = &mut bounds[out.dim(self.label)];
        let tile = tile_bounds(range.len(), self.pieces, which);
        *range = range.start + tile.start..range.start + tile.end;
        bounds
    }
}

pub fn ring_k(builder: &mut Builder, contraction: &Contraction, cut_out: Label, split: Label) {
    let rank = builder.rank();
    let Contraction { left, right, out, onto } = contraction;
    let ranks = out.distribution.ranks();
    let Some(buffer) = out.buffer else { return };
    if ranks == 1 {
        return local(builder, contraction);
    }
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let split = Split::new(out, split);
    let pieces = split.pieces;
    let slots = slots(builder, out, split, *onto);
    let steps = pieces * ranks;
    // The slots take turns, and the last steps fall on those in the own block.
    let first = (steps - pieces) % slots.len();
    let slot = |step: usize| &slots[(step + slots.len() - first) % slots.len()];
    let at = |step: usize| (split.piece(out, (rank + 1 + step / pieces) % ranks, step % pieces), slot(step));

    for step in 0..steps {
        if (1..=steps - pieces).contains(&step) {
            let (sent, slot) = at(step - 1);
            builder.send(previous, vec![slot.view(buffer, &sent)]);
            let (coming, slot) = at(step - 1 + pieces);
            builder.recv(next, vec![slot.view(buffer, &coming)]);
        }
        let (bounds, slot) = at(step);
        let ranges: Vec<_> = [cut_out, split.label].map(|label| (label, bounds[out.dim(label)].clone())).into();
        let (Some(left), Some(right)) = (left.own(rank, &ranges), right.own(rank, &ranges)) else { return };
        let here = slot.view(buffer, &bounds);
        let mine = step >= steps - pieces;
        if mine && *onto {
            let Some(target) = out.own(rank, &ranges) else { return };
            contract(builder, left, right, target.clone(), Accumulate::Beta);
            if here.elements() > 0 {
                builder.work(Work::Add { input: here, out: target });
            }
            continue;
        }
        let fresh = step < pieces;
        contract(builder, left, right, here.clone(), if fresh { Accumulate::Overwrite } else { Accumulate::Add });
        if mine && matches!(slot, Slot::Exchange(_)) && here.elements() > 0 {
            let Some(target) = out.own(rank, &ranges) else { return };
            builder.work(Work::Unary { input: here, out: target });
        }
    }
}

/// Slots that hold any piece, one more than pieces; all but one in the rank's own block of out where they fit.
fn slots(builder: &mut Builder, out: &Tensor, split: Split, onto: bool) -> Vec<Slot> {
    let rank = builder.rank();
    // Larger tiles come first, so no piece is larger than the first of rank 0.
    let largest: Vec<usize> = split.piece(out, 0, 0).iter().map(Range::len).collect();
    let block = out.block(rank);
    let slot = |which: usize| {
        let place = (which < split.pieces && !onto).then(|| split.piece(out, rank, which));
        match place.filter(|place| place.iter().map(Range::len).eq(largest.iter().copied())) {
            Some(place) => {
                Slot::Own(place.iter().zip(&block).map(|(p, b)| p.start - b.start..p.end - b.start).collect())
            }
            None => Slot::Exchange(out.scratch(builder, largest.clone())),
        }
    };
    (0..=split.pieces).map(slot).collect()
}
