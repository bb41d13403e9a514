//! `grid`: on a grid over all dimensions of a contraction, each rank computes the products in one tile.
//!
//! Source: Kwasniewski, Kabić, Besta, VandeVondele, Solcà and Hoefler, Red-Blue Pebbling Revisited: Near Optimal
//! Parallel Matrix-Matrix Multiplication (2019), sections 6 and 7, generalised to any number of dimensions.
//!
//! Each rank gathers its tiles of `left` and `right` along k in rounds. If k is cut, a reduce-scatter adds up the
//! partial sums of `out`. A rank receives the fraction (s - 1) / s of each tile that s ranks share. The next two pieces
//! (fewer if memory is short) arrive while one is contracted.

mod cuts;
mod fit;
mod price;
mod sums;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

pub use self::cuts::{Grid, Sharing};
pub use self::fit::{GridFit, candidates, most_idle};
use self::sums::Sums;
use super::contraction::{Contraction, Tensor};
use super::cost::Contracted;
use super::generator::{Distributions, Generator};
use super::pieces::{Pieces, Rounds};
use crate::dims::{Kinds, Label};
use crate::distribution::{Bounds, Region, tile_bounds};
use crate::schedule::collective::{self, Collective, Group, Meaning, Parts, Pattern};
use crate::schedule::verify::{Order, Summand, Summands};
use crate::schedule::{Builder, LAST};

/// Sends precede receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Peer {
    To(usize),
    From(usize),
}

/// The part of an operand that rank `of` stores. Transfers are in an order on which all ranks agree: by round, forwarded
/// after received, distances of the ranks, and operand.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Transfer {
    key: [usize; 3],
    peer: Peer,
    of: usize,
}

/// The rounds of one rank; ranks that share operands have them in different orders.
struct Tiles<'a> {
    grid: &'a Grid,
    contraction: &'a Contraction,
    /// The dimension along which operands arrive.
    along: Option<Label>,
    /// The operand that determines in which cell a rank starts.
    leading: usize,
    /// The ranges of `along`, one per round, equal on ranks with the same tile.
    cells: Vec<Range<usize>>,
    /// The ranks that share each operand, ascending.
    sharing: [Vec<usize>; 2],
    tile: BTreeMap<Label, Range<usize>>,
}

impl<'a> Tiles<'a> {
    fn new(grid: &'a Grid, contraction: &'a Contraction, rank: usize) -> Tiles<'a> {
        let Contraction { left, right, .. } = contraction;
        let along = Tiles::along(grid, contraction);
        let leading = usize::from(along.is_some_and(|along| !grid.shares_along(0, along)));
        let sharing = [(0, left), (1, right)].map(|(operand, tensor)| grid.exchanging(operand, &tensor.labels, rank));
        let tile = Tiles::tile(grid, contraction, rank);
        let mut tiles = Tiles { grid, contraction, along, leading, cells: Vec::new(), sharing, tile };
        tiles.cells = along.map_or_else(Vec::new, |along| tiles.cells(along));
        tiles
    }

    fn along(grid: &Grid, Contraction { left, right, out, .. }: &Contraction) -> Option<Label> {
        let summed = left.labels.iter().filter(|label| right.labels.contains(label) && !out.labels.contains(label));
        // Pieces of a divided dimension rarely come from several ranks.
        let best = summed.max_by_key(|&&label| {
            let shares = [0, 1].into_iter().filter(|&operand| grid.shares_along(operand, label)).count();
            (shares, grid.tile(0, label, left.extent(label)).len())
        });
        best.copied()
    }

    fn tile(
        grid: &Grid,
        Contraction { left, right, out, .. }: &Contraction,
        rank: usize,
    ) -> BTreeMap<Label, Range<usize>> {
        let dims = [left, right, out].into_iter().flat_map(|tensor| tensor.labels.iter().zip(&tensor.shape));
        dims.map(|(&label, &extent)| (label, grid.tile(rank, label, extent))).collect()
    }

    fn held(&self, operand: usize, along: Label, rank: usize) -> Range<usize> {
        let Contraction { left, right, .. } = self.contraction;
        let tensor = [left, right][operand];
        self.grid.held(operand, &tensor.labels, (along, tensor.extent(along)), rank)
    }

    /// Cells end where stored parts do, or are `rounds` even ones if there would be more.
    fn cells(&self, along: Label) -> Vec<Range<usize>> {
        let tile = self.tile[&along].clone();
        let mut ends = vec![tile.start, tile.end];
        for (operand, holders) in self.sharing.iter().enumerate().filter(|(at, _)| self.grid.shares_along(*at, along)) {
            let parts = holders.iter().map(|&holder| self.held(operand, along, holder));
            // Empty parts (more ranks than indices) have no meaningful start.
            ends.extend(parts.filter(|part| !part.is_empty()).map(|part| part.start));
        }
        ends.sort_unstable();
        ends.dedup();
        let parts: Vec<Range<usize>> = ends.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let rounds = self.grid.rounds.clamp(1, tile.len().max(1));
        if parts.is_empty() {
            return vec![tile];
        }
        if parts.len() > rounds {
            let cells = (0..rounds).map(|round| tile_bounds(tile.len(), rounds, round));
            return cells.map(|cell| tile.start + cell.start..tile.start + cell.end).collect();
        }
        let each = |part: &Range<usize>| ((part.len() * rounds + tile.len() / 2) / tile.len()).clamp(1, part.len());
        let cells = parts.iter().flat_map(|part| {
            (0..each(part)).map(move |piece| {
                let cell = tile_bounds(part.len(), each(part), piece);
                part.start + cell.start..part.start + cell.end
            })
        });
        cells.collect()
    }

    /// The number of a rank's first cell, which is in the part of the leading operand that it stores, or the first rank
    /// of its node that needs the same tile: ranks that forward have the same rounds.
    fn first(&self, rank: usize) -> usize {
        let Contraction { left, right, .. } = self.contraction;
        let rank = self.grid.first_on_node(&[left, right][self.leading].labels, rank);
        let held = self.along.map_or(0, |along| self.held(self.leading, along, rank).start);
        self.cells.partition_point(|cell| cell.start < held) % self.cells.len().max(1)
    }

    fn cell(&self, rank: usize, round: usize) -> Option<&Range<usize>> {
        self.cells.get((self.first(rank) + round) % self.cells.len().max(1)).filter(|_| round < self.cells.len())
    }

    fn rounds_between(&self, operand: usize, source: usize, target: usize) -> impl Iterator<Item = usize> + use<> {
        let cells = self.cells.len().max(1);
        let met = self.along.map_or(0..1, |along| {
            let held = self.held(operand, along, source);
            let start = self.cells.partition_point(|cell| cell.end <= held.start);
            start..self.cells.partition_point(|cell| cell.start < held.end).max(start)
        });
        let first = self.first(target);
        met.map(move |cell| (cell + cells - first) % cells)
    }

    fn transfers(&self, me: usize) -> Vec<Transfer> {
        let (grid, mut transfers) = (self.grid, Vec::new());
        for (operand, sharing) in self.sharing.iter().enumerate() {
            let mut add = |peer: Peer, of: usize, [from, to]: [usize; 2]| {
                let distance = |from: usize| (to + grid.ranks() - from) % grid.ranks();
                let near = usize::from(from / grid.node == to / grid.node) * grid.ranks();
                let at = (near + distance(from)) * grid.ranks() + distance(of);
                let rounds = self.rounds_between(operand, of, to);
                transfers.extend(rounds.map(|round| Transfer { key: [round, at, operand], peer, of }));
            };
            let near: Vec<usize> =
                sharing.iter().filter(|&&rank| rank / grid.node == me / grid.node).copied().collect();
            for &of in sharing {
                if of != me {
                    let source = grid.source(of, me);
                    add(Peer::From(source), of, [source, me]);
                }
                let targets = if of == me { sharing } else { &near };
                for &to in targets.iter().filter(|&&to| to != me && grid.source(of, to) == me) {
                    add(Peer::To(to), of, [me, to]);
                }
            }
        }
        transfers.sort_unstable();
        transfers
    }

    fn region(&self, labels: &[Label], cell: Option<&Range<usize>>) -> Region {
        let range = |label: &Label| cell.filter(|_| self.along == Some(*label)).unwrap_or(&self.tile[label]).clone();
        Region::from(labels.iter().map(range).collect::<Bounds>())
    }

    /// Replaces the tile by one of equal length along `along`.
    fn shift_to(&mut self, tile: BTreeMap<Label, Range<usize>>) {
        if let Some(along) = self.along {
            let (from, to) = (self.tile[&along].start, tile[&along].start);
            self.cells.iter_mut().for_each(|cell| *cell = cell.start - from + to..cell.end - from + to);
        }
        self.tile = tile;
    }

    fn computed_summands(&self, rank: usize) -> Vec<Summand> {
        let Contraction { left, out, .. } = self.contraction;
        let summed: Vec<Label> = left.labels.iter().filter(|label| !out.labels.contains(label)).copied().collect();
        let first = self.first(rank);
        let summand = |round: usize| {
            let cell = self.cells.get((first + round) % self.cells.len().max(1));
            Summand { of: self.region(&out.labels, cell), products: self.region(&summed, cell) }
        };
        (0..self.rounds_of(rank)).map(summand).collect()
    }
}

/// Those of `ranks`. Cells of equally long tiles are equal up to a shift.
fn computed_summands(grid: &Grid, contraction: &Contraction, ranks: &[usize]) -> Vec<Vec<Summand>> {
    let mut known: BTreeMap<Option<usize>, Tiles> = BTreeMap::new();
    let of = |&rank: &usize| {
        let tile = Tiles::tile(grid, contraction, rank);
        let length = Tiles::along(grid, contraction).map(|along| tile[&along].len());
        let like = known.entry(length).or_insert_with(|| Tiles::new(grid, contraction, rank));
        like.shift_to(tile);
        like.computed_summands(rank)
    };
    ranks.iter().map(of).collect()
}

impl Rounds for Tiles<'_> {
    fn rounds_of(&self, _: usize) -> usize {
        self.cells.len().max(1)
    }

    fn piece(&self, tensor: &Tensor, rank: usize, round: usize) -> Option<Region> {
        (round < self.rounds_of(rank)).then(|| self.region(&tensor.labels, self.cell(rank, round)))
    }
}

impl Generator for Grid {
    fn cuts(&self) -> Vec<Label> {
        self.grid(0).into_iter().map(|(label, _)| label).collect()
    }

    fn parameters(&self, name: &dyn Fn(Label) -> String) -> Vec<String> {
        let cuts = self.cuts.iter().filter(|(_, parts)| *parts > 1);
        cuts.map(|&(label, parts)| format!("{}/{parts}", name(label))).collect()
    }

    fn grid(&self, _: usize) -> Vec<(Label, usize)> {
        let mut grid: Vec<(Label, usize)> = Vec::new();
        for &(label, parts) in self.cuts.iter().filter(|(_, parts)| *parts > 1) {
            match grid.iter_mut().find(|(cut, _)| *cut == label) {
                Some((_, all)) => *all *= parts,
                None => grid.push((label, parts)),
            }
        }
        grid
    }

    fn applies(&self, kinds: &Kinds) -> bool {
        self.cuts.iter().all(|&(label, _)| kinds.of(label).is_some())
    }

    fn distributions(&self, [left, right, out]: [&[Label]; 3], _: usize) -> Option<Distributions> {
        Some(Distributions {
            left: self.distribution(left, 0),
            right: self.distribution(right, 1),
            out: self.distribution(out, 2),
        })
    }

    fn holds_whole(&self) -> bool {
        self.ranks() == 1
    }

    fn order(&self, contraction: &Contraction, of: &[usize], _: usize) -> Order {
        Order::Listed(order(contraction, self, of))
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        grid(builder, contraction, self);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        price::seconds(self, contracted)
    }

    fn words_received(&self, contraction: &Contraction, rank: usize, _: usize) -> Option<u64> {
        Some(price::words_received(self, contraction, rank))
    }
}

fn grid(builder: &mut Builder, contraction: &Contraction, grid: &Grid) {
    let me = builder.rank();
    if me >= grid.ranks() {
        return;
    }
    let Contraction { left, right, out, .. } = contraction;
    let tiles = Tiles::new(grid, contraction, me);
    let group = grid.sharing(&out.labels, me);
    let sums = Sums::new(builder, grid, contraction, group.len() > 1);
    let operands = [left, right].map(|tensor| Pieces::new(builder, &tiles, tensor, grid.slots));
    let transfers = tiles.transfers(me);
    let mut transfers = transfers.iter().peekable();
    for round in 0..tiles.rounds_of(me) {
        while let Some(&Transfer { key, peer, of }) = transfers.next_if(|transfer| transfer.key[0] == round) {
            match peer {
                Peer::To(target) => operands[key[2]].send(builder, (of, target), round, key),
                Peer::From(source) => operands[key[2]].recv(builder, (of, source), round, key),
            }
        }
        let here = operands.each_ref().map(|pieces| pieces.here(builder, round));
        let pieces = [left, right].map(|tensor| tiles.piece(tensor, me, round));
        if let ([Some(left), Some(right)], [Some(l), Some(r)]) = (&here, &pieces) {
            sums.add(builder, [(l, left), (r, right)], round);
        }
    }
    if group.len() > 1 {
        reduce_scatter(builder, &sums, contraction, grid, group);
    }
}

/// Sets each block of `out` to the sum of the partial sums of `group`, plus `beta` times the old values if
/// `contraction.onto`.
///
/// ```text
/// a tile of 2 rows, summands a and b of it on ranks 0 and 1; out has row 0 on rank 0 and row 1 on rank 1
///   rank 0: a0 a1        sends a1, receives b0        a0 + b0
///   rank 1: b0 b1        sends b0, receives a1        b1 + a1
/// ```
///
/// Partial sums in the rank's own block are not copied.
fn reduce_scatter(builder: &mut Builder, sums: &Sums, contraction: &Contraction, grid: &Grid, group: Vec<usize>) {
    let (me, out) = (builder.rank(), &contraction.out);
    let Some(group) = Group::new(group, me) else { return };
    let in_place = |owner: usize| owner == me && sums.in_place();
    let summand = |owner: usize| {
        let part = out.distribution.block(&out.shape, owner).filter(|_| !in_place(owner));
        part.and_then(|part| sums.stored(&part))
    };
    let own = |owner: usize| out.own(me, &[]).filter(|_| owner == me);
    let parts = Parts {
        at: group.ranks().iter().map(|&owner| own(owner).into_iter().collect()).collect(),
        summands: group.ranks().iter().map(|&owner| summand(owner).into_iter().collect()).collect(),
        onto: contraction.onto,
    };
    let part = |part: usize| Some(out.distribution.block(&out.shape, group.ranks()[part])?.only_box());
    let computed = OnceCell::new();
    let products = |member: usize| {
        let computed = computed.get_or_init(|| computed_summands(grid, contraction, group.ranks()));
        computed[member].iter().map(|summand| summand.products.clone()).collect()
    };
    let meaning = Meaning { phase: LAST, part: &part, products: &products };
    let how = (Collective::ReduceScatter, grid.algorithm);
    collective::append(builder, how, &group, &parts, grid.pieces, Some(&meaning));
}

fn order(contraction: &Contraction, grid: &Grid, of: &[usize]) -> BTreeMap<usize, Summands> {
    let out = &contraction.out;
    let listed = of.iter().filter(|&&rank| rank < grid.ranks()).filter_map(|&rank| {
        let group = Group::new(grid.sharing(&out.labels, rank), rank)?;
        let computed = computed_summands(grid, contraction, group.ranks());
        let sums = Pattern::new(Collective::ReduceScatter, grid.algorithm, computed.len()).sums_of(group.me());
        let part = |part: usize| out.distribution.block(&out.shape, group.ranks()[part]);
        Some((rank, collective::listed(&sums, group.me(), |member| computed[member].clone(), part).into()))
    });
    listed.collect()
}
