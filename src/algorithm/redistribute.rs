//! Redistributes a tensor from any distribution to any other. A rank copies what it stores of its target block, and
//! receives only the overlaps with other ranks' source blocks.
//!
//! ```text
//! [4, 4] from rows over 2 ranks to columns over 2 ranks
//!   rank 0: [0..2, 0..4] -> [0..4, 0..2]      keeps [0..2, 0..2], sends [0..2, 2..4] to 1
//!   rank 1: [2..4, 0..4] -> [0..4, 2..4]      keeps [2..4, 2..4], sends [2..4, 0..2] to 0
//! ```
//!
//! Each part comes from only one replica, and all boxes from one rank in one transfer. Partial sums (summands) are
//! added in ascending order, so results are bitwise reproducible. In a target with partial sums, the first summand
//! receives the values, and the others are zero. In round d, rank r sends to rank (r + d) mod p, so that not all ranks
//! send to the same one first.
//!
//! A whole tensor from one rank to more than two is broadcast ([`collective`]), in a ring if the tensor is large enough
//! for many pieces, and otherwise in a tree. The root then sends it once (ring) or about log2(p) times (tree), not p -
//! 1 times. Replicas of a first group's blocks in other groups are broadcast likewise. All else is direct messages.
//!
//! If more than [`MAX_DIRECT_SUMMANDS`] groups have partial sums, and the first needs sums of whole blocks, a binomial
//! tree adds them. Each rank adds consecutive summands only, so the order remains ascending:
//!
//! ```text
//! round 0   0 <- 1   2 <- 3   4 <- 5      round 1   0 <- 2   4 <- 6      round 2   0 <- 4
//! ```

use super::contraction::{Tensor, most_pieces};
use crate::distribution::{Bounds, Distribution, Region, Role};
use crate::schedule::collective::{self, Collective, CollectiveAlgorithm, Group, Parts};
use crate::schedule::{Builder, View, Work};

/// The boxes, in indices of the whole tensor, that `target` reads from the block of `source`.
fn wanted(from: &Tensor, to: &Tensor, source: usize, target: usize) -> Vec<Bounds> {
    if to.distribution.summand(target) != Some(0) || from.distribution.replica_for(source, target) != Some(source) {
        return Vec::new();
    }
    let blocks = (from.distribution.block(&from.shape, source), to.distribution.block(&to.shape, target));
    match blocks {
        (Some(have), Some(need)) => have.intersect(&need).boxes(),
        _ => Vec::new(),
    }
}

fn views(tensor: &Tensor, rank: usize, boxes: &[Bounds]) -> Vec<View> {
    boxes.iter().filter_map(|bounds| tensor.view(rank, bounds)).collect()
}

/// Maximum summands that one rank receives directly; a tree's root receives fewer blocks.
const MAX_DIRECT_SUMMANDS: usize = 4;

/// The ranks that differ from one rank in their coordinate along a grid's first axis only.
struct Column<'a> {
    grid: &'a Distribution,
    /// The coordinates of the rank; `None` outside the grid, without tasks.
    coordinates: Option<Vec<usize>>,
}

impl<'a> Column<'a> {
    fn new(grid: &'a Distribution, first: &Distribution, role: &Role, rank: usize) -> Option<Column<'a>> {
        let (axis, others) = grid.axes().split_first()?;
        if axis.role != *role || others != first.axes() || first.summands() > 1 {
            return None;
        }
        let mut place = vec![0; others.len() + 1];
        loop {
            if grid.rank_at(&place) != first.rank_at(&place[1..]) {
                return None;
            }
            let Some(next) = (0..others.len()).rev().find(|&at| place[at + 1] + 1 < others[at].ranks) else { break };
            place[next + 1] += 1;
            place[next + 2..].fill(0);
        }
        Some(Column { grid, coordinates: grid.coordinates(rank) })
    }

    fn len(&self) -> usize {
        self.grid.axes().first().map_or(1, |axis| axis.ranks)
    }

    fn member(&self) -> Option<usize> {
        self.coordinates.as_ref().and_then(|coordinates| coordinates.first().copied())
    }

    fn rank(&self, coordinate: usize) -> usize {
        let mut coordinates = self.coordinates.clone().unwrap_or_default();
        coordinates.iter_mut().take(1).for_each(|first| *first = coordinate);
        self.grid.rank_at(&coordinates)
    }

    fn ranks(&self) -> Vec<usize> {
        if self.coordinates.is_some() { (0..self.len()).map(|at| self.rank(at)).collect() } else { Vec::new() }
    }
}

/// If the redistribution broadcasts a complete tensor to all ranks of a group, returns the root's position in the
/// group, and the group. `None` for groups of at most two ranks, which a direct message serves. If every group needs
/// the blocks of the first group, the group is the ranks that have or need the same block as `rank`.
fn broadcasts(from: &Tensor, to: &Tensor, rank: usize) -> Option<(usize, Vec<usize>)> {
    let (from, to) = (&from.distribution, &to.distribution);
    if to.axes().first().is_some_and(|axis| axis.ranks > 2)
        && let Some(column) = Column::new(to, from, &Role::Replicate, rank)
    {
        return Some((0, column.ranks()));
    }
    if let Some((axis, others)) = to.axes().split_first()
        && axis.ranks > 1
        && axis.role == Role::Replicate
        && others == from.axes()
        && from.summands() == 1
        && from.span().end <= to.span().start
    {
        let block = from.coordinates(rank).or_else(|| Some(to.coordinates(rank)?[1..].to_vec()));
        let ranks = block.map(|block| {
            let copies = (0..axis.ranks).map(|copy| to.rank_at(&[&[copy], &block[..]].concat()));
            std::iter::once(from.rank_at(&block)).chain(copies).collect()
        });
        return Some((0, ranks.unwrap_or_default()));
    }
    let replicates = to.axes().iter().all(|axis| axis.ranks == 1 || axis.role == Role::Replicate);
    if from.places() != 1 || !replicates {
        return None;
    }
    let root = from.rank_at(&vec![0; from.axes().len()]);
    let ranks = to.same_as(root);
    let member = ranks.iter().position(|&rank| rank == root)?;
    (ranks.len() > 2).then_some((member, ranks))
}

/// Chooses a ring or a tree, whichever delivers the last piece earlier, and the number of pieces.
fn choose_broadcast(elements: usize, ranks: usize) -> (CollectiveAlgorithm, usize) {
    let pieces = most_pieces(elements as f64);
    // In units of a piece's transfer: in a ring, the last piece is forwarded ranks - 2 times; in a tree, the root sends
    // every piece once per level.
    let (ring, tree) = (ranks - 2 + pieces, pieces * ranks.next_power_of_two().ilog2() as usize);
    if ring < tree { (CollectiveAlgorithm::Ring, pieces) } else { (CollectiveAlgorithm::Tree, pieces) }
}

/// The rounds, each of one piece, of a broadcast, and its number of pieces.
pub fn broadcast_rounds(elements: usize, ranks: usize) -> (usize, usize) {
    let (algorithm, pieces) = choose_broadcast(elements, ranks.max(2));
    let rounds = match algorithm {
        CollectiveAlgorithm::Ring => ranks.max(2) - 2 + pieces,
        CollectiveAlgorithm::Tree | CollectiveAlgorithm::Direct => pieces * ranks.next_power_of_two().ilog2() as usize,
    };
    (rounds, pieces)
}

fn broadcast(builder: &mut Builder, from: &Tensor, to: &Tensor, root: usize, ranks: Vec<usize>) {
    let me = builder.rank();
    let (have, out) = (from.own(me, &[]), to.own(me, &[]));
    let (Some(group), Some(part)) = (Group::new(ranks, me), have.clone().or_else(|| out.clone())) else { return };
    if let (Some(input), Some(out)) = (have.filter(|input| input.elements() > 0), out) {
        builder.work(Work::Unary { input, out });
    }
    let (algorithm, pieces) = choose_broadcast(part.elements(), group.ranks().len());
    let parts = Parts { at: vec![vec![part]], ..Parts::default() };
    collective::append(builder, (Collective::Broadcast { root }, algorithm), &group, &parts, pieces);
}

fn add_by_tree(builder: &mut Builder, from: &Tensor, to: &Tensor, column: &Column) {
    let me = builder.rank();
    let Some((member, own)) = column.member().zip(from.own(me, &[])) else { return };
    if own.elements() == 0 {
        return;
    }
    let like = |builder: &mut Builder| View::corner(to.scratch(builder, own.extents()), own.extents());
    let children = (0..usize::BITS).map(|round| 1 << round);
    let children: Vec<usize> =
        children.take_while(|stride| member % (2 * stride) == 0 && member + stride < column.len()).collect();
    let mut sum = own.clone();
    if member == 0 || !children.is_empty() {
        sum = if member == 0 { to.own(me, &[]).unwrap_or(own.clone()) } else { like(builder) };
        builder.work(Work::Unary { input: own.clone(), out: sum.clone() });
    }
    // One block arrives while the previous one is added.
    let landings: Vec<View> = (0..children.len().min(2)).map(|_| like(builder)).collect();
    for (round, stride) in children.iter().enumerate() {
        let landing = &landings[round % 2];
        builder.recv(column.rank(member + stride), vec![landing.clone()]);
        builder.work(Work::Add { input: landing.clone(), out: sum.clone() });
    }
    if member > 0 {
        let parent = member - (1 << member.trailing_zeros());
        builder.send(column.rank(parent), vec![sum]);
    }
}

pub fn redistribute(builder: &mut Builder, from: &Tensor, to: &Tensor) {
    let (rank, ranks) = (builder.rank(), builder.ranks());
    if let Some((root, ranks)) = broadcasts(from, to, rank) {
        return broadcast(builder, from, to, root, ranks);
    }
    let summands = from.distribution.summands();
    if from.distribution.axes().first().is_some_and(|axis| axis.ranks > MAX_DIRECT_SUMMANDS)
        && let Some(column) = Column::new(&from.distribution, &to.distribution, &Role::Partial, rank)
    {
        return add_by_tree(builder, from, to, &column);
    }
    let need = to.distribution.block(&to.shape, rank).filter(|_| to.distribution.summand(rank) == Some(0));
    if let (Some(zeros), None) = (to.own(rank, &[]).filter(|zeros| zeros.elements() > 0), &need) {
        builder.work(Work::Fill { out: zeros });
    }
    // The first summand arrives in the target block, others in two alternating buffers.
    let largest = need.as_ref().map(Region::extents).filter(|_| summands > 1);
    let scratch: Vec<_> = largest
        .iter()
        .flat_map(|extents| {
            [0, 1].map(|_| Tensor { buffer: Some(to.scratch(builder, extents.clone())), window: None, ..to.clone() })
        })
        .collect();

    let peers = Peers::new(from, to, rank, ranks);
    for summand in 0..summands {
        let landing = if summand == 0 { to } else { scratch.get(summand % 2).unwrap_or(to) };
        for &round in &peers.rounds {
            let (target, source) = ((rank + round) % ranks, (rank + ranks - round) % ranks);
            if from.distribution.summand(rank) == Some(summand) {
                builder.send(target, views(from, rank, &wanted(from, to, rank, target)));
            }
            if from.distribution.summand(source) == Some(summand) {
                builder.recv(source, views(landing, rank, &wanted(from, to, source, rank)));
            }
        }
        for &source in peers.sources.iter().filter(|&&source| from.distribution.summand(source) == Some(summand)) {
            let boxes = wanted(from, to, source, rank);
            let have = if source == rank { from } else { landing };
            for (input, out) in views(have, rank, &boxes).into_iter().zip(views(to, rank, &boxes)) {
                if summand > 0 {
                    builder.work(Work::Add { input, out });
                } else if source == rank {
                    builder.work(Work::Unary { input, out });
                }
            }
        }
    }
}

struct Peers {
    /// The ranks, possibly this one, whose source blocks overlap its target block.
    sources: Vec<usize>,
    /// The distinct distances, ascending, to the ranks that it exchanges data with.
    rounds: Vec<usize>,
}

impl Peers {
    fn new(from: &Tensor, to: &Tensor, rank: usize, ranks: usize) -> Peers {
        let overlapping = |other: &Tensor, own: &Tensor| {
            let block = own.distribution.block(&own.shape, rank);
            block.map(|block| other.distribution.meeting(&other.shape, &block)).unwrap_or_default()
        };
        let (sources, targets) = (overlapping(from, to), overlapping(to, from));
        let behind = sources.iter().map(|&source| (rank + ranks - source) % ranks);
        let ahead = targets.iter().map(|&target| (target + ranks - rank) % ranks);
        let mut rounds: Vec<usize> = behind.chain(ahead).filter(|&round| round > 0).collect();
        rounds.sort_unstable();
        rounds.dedup();
        Peers { sources, rounds }
    }
}

#[cfg(test)]
mod tests;
