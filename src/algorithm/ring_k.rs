//! `ring-k`: both operands are cut along k; partial sums of out travel the ring and grow.
//!
//! Source: thesis, section 5.3, Algorithm 4; reduce-scatter matrix multiplication. Every block of out is halved along a
//! second dimension (or the cut one), so that one half is computed while the other travels.
//!
//! ```text
//! mk,kn->mn on 2 ranks, rank 0: block 0 of out is its own, halves a and b
//!   step 0    block 1a  = left right            -
//!   step 1    block 1b  = left right            sends 1a to 1
//!   step 2    block 0a += left right            sends 1b to 1, has received 0a from 1
//!   step 3    block 0b += left right            has received 0b from 1
//! ```
//!
//! At step j rank i computes half j mod 2 of block (i + 1 + j/2) mod p, on top of what rank i+1 has sent. It receives
//! (p-1)/p of out. Three slots of one half each take turns to receive, compute and send; two of them lie in the rank's own
//! block of out, where the last two steps leave the result, so the extra memory is one half block. A slot that the own
//! block cannot hold (uneven blocks or halves) is an exchange buffer, and the last step copies out of it.
//!
//! Added onto an existing out, the travelling sums keep out of the user's block: three exchange slots, and the owner adds
//! what arrives onto `beta out + left right`.

use std::ops::Range;

use super::contraction::{Contraction, Tensor, contract, corner};
use super::local::local;
use crate::dims::Label;
use crate::dist::{Bounds, tile_bounds};
use crate::schedule::{Accumulate, BufferId, Builder, View, Work};

/// A place for one travelling half block.
enum Slot {
    /// Half of the rank's own block of out.
    Own(Bounds),
    Exchange(BufferId),
}

impl Slot {
    fn view(&self, out: BufferId, half: &[Range<usize>]) -> View {
        match self {
            Slot::Exchange(buffer) => corner(*buffer, half),
            Slot::Own(place) => {
                let bounds = place.iter().zip(half).map(|(p, h)| p.start..p.start + h.len()).collect();
                View { buffer: out, bounds }
            }
        }
    }
}

/// Half `which` of the block of `owner`, as a box of the tensor.
fn half(out: &Tensor, owner: usize, which: usize, split: Label) -> Bounds {
    let mut bounds = out.block(owner);
    let range = &mut bounds[out.dim(split)];
    let tile = tile_bounds(range.len(), 2, which);
    *range = range.start + tile.start..range.start + tile.end;
    bounds
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
    let slots = slots(builder, out, split, *onto);
    let steps = 2 * ranks;
    let at = |step: usize| (half(out, (rank + 1 + step / 2) % ranks, step % 2, split), &slots[slot_of(step, steps)]);

    for step in 0..steps {
        if (1..steps - 1).contains(&step) {
            let (sent, slot) = at(step - 1);
            builder.send(previous, vec![slot.view(buffer, &sent)]);
            let (coming, slot) = at(step + 1);
            builder.recv(next, vec![slot.view(buffer, &coming)]);
        }
        let (bounds, slot) = at(step);
        let ranges: Vec<_> = [cut_out, split].map(|label| (label, bounds[out.dim(label)].clone())).into();
        let (Some(left), Some(right)) = (left.own(rank, &ranges), right.own(rank, &ranges)) else { return };
        let here = slot.view(buffer, &bounds);
        let mine = step >= steps - 2;
        if mine && *onto {
            let Some(target) = out.own(rank, &ranges) else { return };
            contract(builder, left, right, target.clone(), Accumulate::Beta);
            if here.elements() > 0 {
                builder.work(Work::Add { input: here, out: target });
            }
            continue;
        }
        contract(builder, left, right, here.clone(), if step < 2 { Accumulate::Overwrite } else { Accumulate::Add });
        if mine && matches!(slot, Slot::Exchange(_)) && here.elements() > 0 {
            let Some(target) = out.own(rank, &ranges) else { return };
            builder.work(Work::Unary { input: here, out: target });
        }
    }
}

/// The slot of a step: they take turns, and the last two steps fall on slots 0 and 1.
fn slot_of(step: usize, steps: usize) -> usize {
    (step + 3 * steps + 2 - steps) % 3
}

/// Three slots that hold any half block; two of them in the rank's own block of out where they fit.
fn slots(builder: &mut Builder, out: &Tensor, split: Label, onto: bool) -> [Slot; 3] {
    let rank = builder.rank();
    // Larger tiles come first, so no half is larger than the first of rank 0.
    let largest: Vec<usize> = half(out, 0, 0, split).iter().map(Range::len).collect();
    [Some(0), Some(1), None].map(|which| {
        let place = which.map(|which| half(out, rank, which, split));
        match place.filter(|place| !onto && place.iter().map(Range::len).eq(largest.iter().copied())) {
            Some(place) => {
                Slot::Own(place.iter().zip(&out.block(rank)).map(|(p, b)| p.start - b.start..p.end - b.start).collect())
            }
            None => Slot::Exchange(out.scratch(builder, largest.clone())),
        }
    })
}
