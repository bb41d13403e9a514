//! Adds up what the replicas of a block have: a reduce-scatter of parts of the block, then an all-gather of these.
//!
//! ```text
//! a block of 4 rows on ranks 0 and 1          reduce-scatter          all-gather
//!   rank 0: a0 a1 a2 a3                       a0+b0 a1+b1             all four sums
//!   rank 1: b0 b1 b2 b3                       a2+b2 a3+b3             all four sums
//! ```
//!
//! Each of r replicas receives 2 (r - 1) / r of the block. It adds its own part first, then those of the replicas before it,
//! the nearest first, so bits repeat and all replicas hold the same.

use super::contraction::Tensor;
use crate::dist::{Bounds, tile_bounds};
use crate::schedule::{Builder, View, Work};

/// Makes each replica's block of `out` the sum of the blocks of all replicas in `sums`; `onto`: beta times what is there is
/// added.
pub fn add_replicas(builder: &mut Builder, sums: &Tensor, out: &Tensor, onto: bool) {
    let me = builder.rank();
    let (Some(source), Some(target)) = (sums.own(me, &[]), out.own(me, &[])) else { return };
    let group = out.distribution.same_as(me);
    let (replicas, Some(number)) = (group.len(), group.iter().position(|&rank| rank == me)) else { return };
    // Cut along the longest dimension; a number has none, and belongs to the first replica.
    let longest = (0..target.bounds.len()).min_by_key(|&dim| std::cmp::Reverse(target.bounds[dim].len()));
    let part = |view: &View, which: usize| -> Option<View> {
        let mut bounds: Bounds = view.bounds.clone();
        match longest {
            Some(dim) => bounds[dim] = tile_bounds(bounds[dim].len(), replicas, which),
            None if which > 0 => return None,
            None => {}
        }
        Some(View { buffer: view.buffer, bounds }).filter(|view| view.elements() > 0)
    };
    let largest = part(&target, 0).map(|view| view.bounds.iter().map(ExactSizeIterator::len).collect::<Vec<_>>());
    let Some(largest) = largest else { return };
    let slots = [0, 1].map(|_| out.scratch(builder, largest.clone()));
    if let (Some(input), Some(out)) = (part(&source, number), part(&target, number)) {
        builder.work(if onto { Work::Update { input, out } } else { Work::Unary { input, out } });
    }
    for distance in 1..replicas {
        let (to, from) = ((number + distance) % replicas, (number + replicas - distance) % replicas);
        builder.send(group[to], part(&source, to).into_iter().collect());
        let Some(out) = part(&target, number) else { continue };
        let bounds: Bounds = out.bounds.iter().map(|range| 0..range.len()).collect();
        let input = View { buffer: slots[distance % 2], bounds };
        builder.recv(group[from], vec![input.clone()]);
        builder.work(Work::Add { input, out });
    }
    for distance in 1..replicas {
        let (to, from) = ((number + distance) % replicas, (number + replicas - distance) % replicas);
        builder.send(group[to], part(&target, number).into_iter().collect());
        builder.recv(group[from], part(&target, from).into_iter().collect());
    }
}
