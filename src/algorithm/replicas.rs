//! Adds up partial sums of a block with an all-reduce ([`collective`]); the replicas are bitwise identical.

use super::contraction::Tensor;
use crate::distribution::{Intervals, Region, tile_bounds};
use crate::schedule::collective::{self, Collective, CollectiveAlgorithm, Group, Parts, Pattern, Sum};
use crate::schedule::verify::Summand;
use crate::schedule::{Builder, View};

/// Sets each replica of a block of `out` to the sum, plus `beta` times the old values if `onto`.
pub fn add_replicas(builder: &mut Builder, sums: &Tensor, out: &Tensor, onto: bool, algorithm: CollectiveAlgorithm) {
    let me = builder.rank();
    let (Some(source), Some(target)) = (sums.own(me, &[]), out.own(me, &[])) else { return };
    let Some(group) = Group::new(out.distribution.same_as(me), me) else { return };
    let replicas = group.ranks().len();
    let parts = |view: &View| (0..replicas).map(|part| view.tile(replicas, part).into_iter().collect()).collect();
    let parts = Parts { at: parts(&target), summands: parts(&source), onto };
    collective::append(builder, (Collective::AllReduce, algorithm), &group, &parts, 1, None);
}

/// `computed` has each rank's own summands in order.
pub fn order(out: &Tensor, computed: &[Vec<Summand>], algorithm: CollectiveAlgorithm) -> Vec<Vec<Summand>> {
    let replicas = out.distribution.replicas();
    let sums: Vec<Vec<Sum>> = Pattern::new(Collective::AllReduce, algorithm, replicas).sums();
    let summands_of = |rank: usize| {
        let Some(group) = Group::new(out.distribution.same_as(rank), rank) else { return Vec::new() };
        let block = out.distribution.block_or_empty(&out.shape, rank);
        let computed = |member: usize| computed[group.ranks()[member]].clone();
        collective::listed(&sums[group.me()], group.me(), computed, |part| Some(tile(&block, replicas, part)))
    };
    (0..computed.len()).map(summands_of).collect()
}

/// Like [`View::tile`], in indices of the whole tensor.
fn tile(block: &Region, parts: usize, index: usize) -> Region {
    let mut dims: Vec<Intervals> = block.dims().to_vec();
    if let Some(dim) = dims.iter_mut().min_by_key(|dim| std::cmp::Reverse(dim.len())) {
        *dim = dim.select(&tile_bounds(dim.len(), parts, index));
    }
    Region::from(dims)
}
