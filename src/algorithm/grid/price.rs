//! The time and the received words of `grid`.

use super::Grid;
use crate::algorithm::contraction::Contraction;
use crate::algorithm::cost::{Contracted, Cost, DEEP_ROUND_INDICES};
use crate::dims::Label;
use crate::machine::Link;
use crate::schedule::collective::{Collective, CollectiveAlgorithm, Pattern};

/// Pieces that arrive while one is contracted.
const AHEAD: f64 = 2.0;

/// Predicted for the busiest rank. Only the products of one round do not overlap with receiving operands; partial sums
/// arrive afterwards.
pub fn seconds(grid: &Grid, contracted: &Contracted) -> f64 {
    // Ranks differ only in their partners on the same node.
    let (ranks, per_node) = (grid.ranks(), contracted.cost.machine.ranks_per_node);
    let mut sampled_ranks = if per_node > 1 { vec![0, per_node - 1, per_node, ranks / 2, ranks - 1] } else { vec![0] };
    sampled_ranks.retain(|&rank| rank < ranks);
    sampled_ranks.into_iter().map(|rank| on_rank(grid, contracted, rank)).fold(0.0, f64::max)
}

/// Predicted seconds with the largest tiles, and with the links of `rank`.
fn on_rank(grid: &Grid, contracted: &Contracted, rank: usize) -> f64 {
    let cost = contracted.cost;
    let Cost { machine, dtype, extents } = *cost;
    let per_node = machine.ranks_per_node.max(1);
    let tile = |labels: &[Label]| -> f64 {
        let lengths = labels.iter().map(|&label| grid.tile(0, label, extents[label.0 as usize]).len() as f64);
        lengths.product()
    };
    let [left, right, out] = contracted.tensors.map(tile);
    let ring = |tensor: usize| tensor == 2 && grid.algorithm == CollectiveAlgorithm::Ring;
    let links = [0, 1, 2].map(|tensor| -> Vec<Link> {
        let group = grid.exchanging(tensor, contracted.tensors[tensor], rank);
        let others = group.iter().enumerate().filter(|(_, other)| **other != rank);
        let near = group.iter().filter(|&&member| member / per_node == rank / per_node).count() as f64;
        let link = |(at, &other): (usize, &usize)| {
            let (from, to) = match tensor {
                0 | 1 => (grid.source(other, rank), rank),
                _ if ring(tensor) => (group[(at + 1) % group.len()], other),
                _ => (other, rank),
            };
            let (Link { bandwidth, latency }, busy) = (machine.link(from, to), machine.busy_link(from, to).bandwidth);
            let bandwidth = match tensor {
                // Of a node's ranks, those that receive and forward the pieces of the next rounds are busy.
                0 | 1 if grid.node > 1 => busy.min(bandwidth * AHEAD / near.max(AHEAD)),
                // Only one receives from another node.
                2 if ring(tensor) => bandwidth.min(near * busy),
                _ => busy,
            };
            Link { bandwidth, latency }
        };
        others.map(link).collect()
    });
    let receive = |elements: f64, tensor: usize, pieces: f64| -> f64 {
        let part = elements / (links[tensor].len() + 1) as f64 * dtype.size() as f64;
        let steps = links[tensor].iter().map(|link| pieces * link.latency + part / link.bandwidth);
        // All wait for the slowest link of a ring.
        if ring(tensor) { links[tensor].len() as f64 * steps.fold(0.0, f64::max) } else { steps.sum() }
    };
    let by_rounds =
        |operand: usize| grid.shared[operand].iter().any(|part| !contracted.tensors[2].contains(&part.along));
    let gather = |operand: usize, elements: f64| {
        // Parts along other dimensions send a piece in each round.
        let sharing = if by_rounds(operand) { (links[operand].len() + 1) as f64 } else { 1.0 };
        receive(elements, operand, (grid.rounds as f64 / sharing).max(1.0))
    };
    let gather = gather(0, left) + gather(1, right);
    let adds = if links[2].is_empty() { 0.0 } else { cost.stream(3.0 * out) };
    let rounds = if gather > 0.0 { grid.rounds as f64 } else { 1.0 };
    // A single round also passes over `out` once per `DEEP_ROUND_INDICES` summed indices.
    let more = (rounds - (tile(&contracted.labels) / out.max(1.0) / DEEP_ROUND_INDICES).ceil()).max(0.0);
    let compute = cost.product(tile(&contracted.labels), left + right + out) + cost.extra_passes(more * out);
    // The first piece of one operand is the rank's own, if its parts are pieces.
    let own_first = |operand: usize| by_rounds(operand) && grid.node == 1;
    let waits = |operand: usize| if links[operand].is_empty() { 0 } else { 2 - usize::from(own_first(operand)) };
    let exposed = if waits(0) + waits(1) > 1 || rounds < 2.0 { gather / rounds } else { 0.0 };
    cost.partly_overlapped([compute, compute / rounds], [gather, exposed])
        + receive(out, 2, grid.pieces.max(1) as f64)
        + adds
}

/// Counts operands on other ranks, and partial sums for the rank's part of `out`, including those that it only
/// forwards.
pub fn words_received(grid: &Grid, contraction: &Contraction, rank: usize) -> u64 {
    if rank >= grid.ranks() {
        return 0;
    }
    let Contraction { left, right, out, .. } = contraction;
    let tile = |of: &super::Tensor| of.elements_of(|label| Some(grid.tile(rank, label, of.extent(label)).len()));
    let lacks =
        |operand: usize, of: &super::Tensor| if grid.replicates(operand) { 0 } else { tile(of) - of.held(rank) };
    let summing: usize = grid.cuts.iter().filter(|(cut, _)| !out.labels.contains(cut)).map(|cut| cut.1).product();
    let sums = match grid.algorithm {
        CollectiveAlgorithm::Direct => out.held(rank) * (summing as u64 - 1),
        // The next member stores the part that this one passes on first.
        CollectiveAlgorithm::Ring => {
            let group = grid.sharing(&out.labels, rank);
            let next = group.iter().position(|&member| member == rank).map_or(0, |me| (me + 1) % group.len());
            if group.len() > 1 { tile(out) - out.held(group[next]) } else { 0 }
        }
        CollectiveAlgorithm::Tree => {
            let group = grid.sharing(&out.labels, rank);
            let me = group.iter().position(|&member| member == rank).unwrap_or(0);
            let pattern = Pattern::new(Collective::ReduceScatter, grid.algorithm, summing);
            let received = (0..pattern.rounds()).filter_map(|round| pattern.step(me, round).received);
            received.flat_map(|message| message.parts.iter()).map(|part| out.held(group[part])).sum()
        }
    };
    lacks(0, left) + lacks(1, right) + sums
}
