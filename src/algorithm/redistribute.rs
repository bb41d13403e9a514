//! Redistributes a tensor between any distributions. A rank copies what it stores of its target block, and receives the
//! rest.
//!
//! Each part comes from one replica, and all boxes from one rank in one transfer. Partial sums (summands) are added in
//! ascending order, so results are bitwise reproducible. In a target with partial sums, the first summand has the
//! values, and the others are zero. In round d, rank r sends to rank (r + d) mod p, so that not all send to the same
//! one first.

mod words;

use std::ops::Range;

use super::contraction::{Tensor, most_pieces};
use crate::distribution::{Bounds, Distribution, Region, Role};
use crate::schedule::collective::{self, Collective, CollectiveAlgorithm, Group, Meaning, Parts, Pattern};
use crate::schedule::{Builder, CarriedSum, View, Work};

/// What one rank has, and what it needs and is not filled with zeros.
struct Blocks<'a> {
    from: &'a Tensor,
    to: &'a Tensor,
    rank: usize,
    have: Option<Region>,
    need: Option<Region>,
}

impl<'a> Blocks<'a> {
    fn new(from: &'a Tensor, to: &'a Tensor, rank: usize) -> Blocks<'a> {
        let have = from.distribution.block(&from.shape, rank);
        Blocks { from, to, rank, have, need: needed(to, rank) }
    }

    /// The boxes, in indices of the whole tensor, that `target` reads from this rank.
    fn read_by(&self, target: usize) -> Vec<Bounds> {
        self.common(self.rank, target, || Some(self.have.as_ref()?.intersect(&needed(self.to, target)?)))
    }

    /// Those that this rank reads from `source`.
    fn read_from(&self, source: usize) -> Vec<Bounds> {
        let have = || self.from.distribution.block(&self.from.shape, source);
        self.common(source, self.rank, || Some(have()?.intersect(self.need.as_ref()?)))
    }

    fn common(&self, source: usize, target: usize, region: impl FnOnce() -> Option<Region>) -> Vec<Bounds> {
        let reads = self.from.distribution.replica_for(source, target) == Some(source);
        Some(reads).filter(|reads| *reads).and_then(|_| region()).map_or(Vec::new(), |region| region.boxes())
    }
}

/// The block of the first summand.
fn needed(to: &Tensor, rank: usize) -> Option<Region> {
    to.distribution.block(&to.shape, rank).filter(|_| to.distribution.summand(rank) == Some(0))
}

fn views(tensor: &Tensor, block: Option<&Region>, boxes: &[Bounds]) -> Vec<View> {
    block.map_or(Vec::new(), |block| boxes.iter().filter_map(|bounds| tensor.view_in(block, bounds)).collect())
}

/// With more summands, the root of a tree receives fewer blocks.
pub const MAX_DIRECT_SUMMANDS: usize = 4;

/// The ranks that differ from one only in their coordinate along the first axis.
struct Column<'a> {
    grid: &'a Distribution,
    /// `None` outside the grid, without tasks.
    coordinates: Option<Vec<usize>>,
}

impl<'a> Column<'a> {
    fn new(grid: &'a Distribution, first: &Distribution, role: &Role, rank: usize) -> Option<Column<'a>> {
        let (axis, others) = grid.axes().split_first()?;
        if axis.role != *role || others != first.axes() || first.summands() > 1 {
            return None;
        }
        if let (Some((start, strides)), Some((other, own))) = (grid.strides(), first.strides()) {
            let mut pairs = others.iter().zip(strides[1..].iter().zip(&own));
            let same = start == other && pairs.all(|(axis, (a, b))| axis.ranks == 1 || a == b);
            return same.then(|| Column { grid, coordinates: grid.coordinates(rank) });
        }
        let mut place = vec![0; others.len() + 1];
        while grid.rank_at(&place) == first.rank_at(&place[1..]) {
            let Some(next) = (0..others.len()).rev().find(|&at| place[at + 1] + 1 < others[at].ranks) else {
                return Some(Column { grid, coordinates: grid.coordinates(rank) });
            };
            place[next + 1] += 1;
            place[next + 2..].fill(0);
        }
        None
    }

    fn len(&self) -> usize {
        self.grid.axes().first().map_or(1, |axis| axis.ranks)
    }

    fn member(&self) -> Option<usize> {
        self.coordinates.as_ref().and_then(|coordinates| coordinates.first().copied())
    }

    fn rank(&self, member: usize) -> usize {
        self.ranks(member..member + 1).first().copied().unwrap_or(0)
    }

    fn ranks(&self, members: Range<usize>) -> Vec<usize> {
        let Some(mut coordinates) = self.coordinates.clone() else { return Vec::new() };
        let rank = |member| {
            coordinates[0] = member;
            self.grid.rank_at(&coordinates)
        };
        members.map(rank).collect()
    }
}

/// The root's position in the group of a broadcast, and the group; `None` for at most two ranks.
fn broadcasts(from: &Tensor, to: &Tensor, rank: usize) -> Option<(usize, Vec<usize>)> {
    let (from, to) = (&from.distribution, &to.distribution);
    if to.axes().first().is_some_and(|axis| axis.ranks > 2)
        && let Some(column) = Column::new(to, from, &Role::Replicate, rank)
    {
        return Some((0, column.ranks(0..column.len())));
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

/// A ring or a tree, whichever delivers the last piece earlier, and the number of pieces.
fn choose_broadcast(elements: usize, ranks: usize) -> (CollectiveAlgorithm, usize) {
    let pieces = most_pieces(elements as f64);
    // In transfers of a piece: a ring forwards the last piece ranks - 2 times; a tree's root sends every piece once per
    // level.
    let (ring, tree) = (ranks - 2 + pieces, pieces * ranks.next_power_of_two().ilog2() as usize);
    if ring < tree { (CollectiveAlgorithm::Ring, pieces) } else { (CollectiveAlgorithm::Tree, pieces) }
}

/// A broadcast's rounds, each of one piece, and number of pieces.
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
    let block = |_| from.distribution.block(&from.shape, group.ranks()[root])?.as_box();
    let is_box = block(0).is_some();
    let meaning = Meaning { phase: 0, part: &block, products: &|_| Vec::new() };
    collective::append(
        builder,
        (Collective::Broadcast { root }, algorithm),
        &group,
        &parts,
        pieces,
        Some(&meaning).filter(|_| is_box),
    );
}

fn add_by_tree(builder: &mut Builder, from: &Tensor, to: &Tensor, column: &Column) {
    let me = builder.rank();
    let Some((member, own)) = column.member().zip(from.own(me, &[])) else { return };
    if own.elements() == 0 {
        return;
    }
    let like = |builder: &mut Builder| View::corner(to.scratch(builder, own.extents()), own.extents());
    let children: Vec<usize> = children(member, column.len()).collect();
    let mut sum = own.clone();
    if member == 0 || !children.is_empty() {
        sum = if member == 0 { to.own(me, &[]).unwrap_or(own.clone()) } else { like(builder) };
        builder.work(Work::Unary { input: own.clone(), out: sum.clone() });
    }
    let block = from.distribution.block(&from.shape, me).and_then(|block| block.as_box());
    let sum_of = |member: usize, count: usize| {
        let ranks = column.ranks(member..column.len().min(member + count));
        (block.iter().cloned().collect(), CarriedSum::StoredBy(ranks))
    };
    let landings: Vec<View> = (0..children.len().min(2)).map(|_| like(builder)).collect();
    for (round, stride) in children.iter().enumerate() {
        let landing = &landings[round % 2];
        let from = member + stride;
        builder.recv(column.rank(from), vec![landing.clone()]).carries([0, *stride, 0], || sum_of(from, *stride));
        builder.work(Work::Add { input: landing.clone(), out: sum.clone() });
    }
    if member > 0 {
        let stride = 1 << member.trailing_zeros();
        builder.send(column.rank(member - stride), vec![sum]).carries([0, stride, 0], || sum_of(member, stride));
    }
}

pub fn redistribute(builder: &mut Builder, from: &Tensor, to: &Tensor) {
    let (rank, ranks) = (builder.rank(), builder.ranks());
    if let Some((root, ranks)) = broadcasts(from, to, rank) {
        return broadcast(builder, from, to, root, ranks);
    }
    let summands = from.distribution.summands();
    if let Some(column) = sums_by_tree(from, to, rank) {
        return add_by_tree(builder, from, to, &column);
    }
    let blocks = Blocks::new(from, to, rank);
    let (have, need) = (blocks.have.as_ref(), blocks.need.as_ref());
    if let (Some(zeros), None) = (to.own(rank, &[]).filter(|zeros| zeros.elements() > 0), need) {
        builder.work(Work::Fill { out: zeros });
    }
    // The first summand arrives in the target block, others in alternating buffers.
    let largest = need.map(Region::extents).filter(|_| summands > 1);
    let scratch: Vec<_> = largest
        .iter()
        .flat_map(|extents| {
            [0, 1].map(|_| Tensor { buffer: Some(to.scratch(builder, extents.clone())), window: None, ..to.clone() })
        })
        .collect();

    let (peers, own_summand) = (Peers::new(from, to, rank, ranks), from.distribution.summand(rank));
    let sum = |rank| if summands > 1 { CarriedSum::StoredBy(vec![rank]) } else { CarriedSum::Complete };
    for summand in 0..summands {
        let landing = if summand == 0 { to } else { scratch.get(summand % 2).unwrap_or(to) };
        for &round in &peers.rounds {
            let (target, source) = ((rank + round) % ranks, (rank + ranks - round) % ranks);
            if own_summand == Some(summand) && peers.targets.binary_search(&target).is_ok() {
                let boxes = blocks.read_by(target);
                builder.send(target, views(from, have, &boxes)).carries([summand, round, 0], || (boxes, sum(rank)));
            }
            if peers.sources.binary_search(&source).is_ok() && from.distribution.summand(source) == Some(summand) {
                let boxes = blocks.read_from(source);
                let landed = builder.recv(source, views(landing, need, &boxes));
                landed.carries([summand, round, 0], || (boxes, sum(source)));
            }
        }
        for &source in peers.sources.iter().filter(|&&source| summand > 0 || source == rank) {
            if from.distribution.summand(source) != Some(summand) {
                continue;
            }
            let boxes = blocks.read_from(source);
            let (input, block) = if source == rank { (from, have) } else { (landing, need) };
            for (input, out) in views(input, block, &boxes).into_iter().zip(views(to, need, &boxes)) {
                builder.work(if summand > 0 { Work::Add { input, out } } else { Work::Unary { input, out } });
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// The ranks without a source block receive their target block once.
    Broadcast,
    /// Partial sums are added along a binomial tree.
    Tree,
    /// Each rank receives what it lacks, for each summand.
    Direct,
}

impl Movement {
    /// Cost: O(places of the distributions).
    pub fn of(from: &Tensor, to: &Tensor) -> Movement {
        if broadcasts(from, to, 0).is_some() {
            Movement::Broadcast
        } else if sums_by_tree(from, to, 0).is_some() {
            Movement::Tree
        } else {
            Movement::Direct
        }
    }

    /// Differs for ranks with other tasks than the rest: by the messages sent in a tree, or the ends of a ring. Cost:
    /// O((log ranks)^2).
    pub fn role(self, from: &Tensor, to: &Tensor, rank: usize) -> usize {
        match self {
            Movement::Direct => 0,
            Movement::Tree => {
                let member = from.distribution.coordinates(rank).and_then(|at| at.first().copied());
                let len = from.distribution.axes().first().map_or(1, |axis| axis.ranks);
                member.map_or(0, |member| 2 + 2 * children(member, len).count() + usize::from(member == 0))
            }
            Movement::Broadcast => {
                let (members, Some(copy)) = (to.distribution.replicas(), to.distribution.replica(rank)) else {
                    return 0;
                };
                let (algorithm, _) = choose_broadcast(to.held(rank) as usize, members.max(3));
                let pattern = Pattern::new(Collective::Broadcast { root: 0 }, algorithm, members + 1);
                let sends = |member: usize| match algorithm {
                    CollectiveAlgorithm::Ring => usize::from(member + 1 < members),
                    _ => (0..pattern.rounds()).filter(|&round| pattern.step(member, round).sent.is_some()).count(),
                };
                // The root is the first member or a rank before it.
                1 + 64 * sends(copy) + 8 * sends(copy + 1) + usize::from(copy == 0)
            }
        }
    }

    /// The maximum and the sum over all ranks of [`Movement::words_received`].
    pub fn most_and_all_words(self, from: &Tensor, to: &Tensor) -> (u64, u128) {
        let ranks = match self {
            Movement::Direct => return words::over_ranks(&to.shape, &from.distribution, &to.distribution),
            Movement::Tree => from.distribution.span(),
            Movement::Broadcast => to.distribution.span(),
        };
        let words = ranks.map(|rank| self.words_received(from, to, rank));
        words.fold((0, 0), |(most, all), words| (words.max(most), all + u128::from(words)))
    }

    /// Cost: O(axes + dimensions x index intervals).
    pub fn words_received(self, from: &Tensor, to: &Tensor, rank: usize) -> u64 {
        let (source, target) = (&from.distribution, &to.distribution);
        match self {
            Movement::Broadcast if source.coordinates(rank).is_some() => 0,
            Movement::Broadcast => to.held(rank),
            Movement::Tree => {
                let member = source.coordinates(rank).and_then(|at| at.first().copied());
                let len = source.axes().first().map_or(1, |axis| axis.ranks);
                member.map_or(0, |member| children(member, len).count() as u64 * from.held(rank))
            }
            Movement::Direct if target.summands() > 1 && target.summand(rank) != Some(0) => 0,
            Movement::Direct => {
                let Some(need) = target.block(&to.shape, rank) else { return 0 };
                let kept = source.block(&from.shape, rank).map_or(0, |have| have.common(&need));
                (need.volume() * source.summands() - kept) as u64
            }
        }
    }
}

/// The distances, in order, to those that send to a member of a binomial tree.
fn children(member: usize, len: usize) -> impl Iterator<Item = usize> {
    let strides = (0..usize::BITS).map(|round| 1 << round);
    strides.take_while(move |stride| member.is_multiple_of(2 * stride) && member + stride < len)
}

fn sums_by_tree<'a>(from: &'a Tensor, to: &Tensor, rank: usize) -> Option<Column<'a>> {
    let many = from.distribution.axes().first().is_some_and(|axis| axis.ranks > MAX_DIRECT_SUMMANDS);
    many.then(|| Column::new(&from.distribution, &to.distribution, &Role::Partial, rank)).flatten()
}

struct Peers {
    /// The ranks, possibly this one, with overlapping source blocks.
    sources: Vec<usize>,
    /// Likewise with overlapping target blocks.
    targets: Vec<usize>,
    /// The distinct distances, ascending, to ranks that it exchanges data with.
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
        Peers { sources, targets, rounds }
    }
}

#[cfg(test)]
mod tests;
