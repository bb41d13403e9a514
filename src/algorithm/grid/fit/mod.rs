//! Finds the numbers of tiles along c, m, n and k with the fewest words to transfer. As in section 7.1 of the COSMA
//! paper (Kwasniewski and others, 2019), some ranks are idle if this reduces the words.
//!
//! [`words`] estimates the words of each grid, and counts those of the best few exactly. No rank exceeds the memory
//! limit, unless the user prescribes `grid` and none fits.

mod sharing;
mod words;

use std::ops::RangeInclusive;

use super::Grid;
use crate::algorithm::contraction::{MAX_PIECES, most_pieces};
use crate::algorithm::cost::DEEP_ROUND_INDICES;
use crate::algorithm::generator::Setting;
use crate::dims::{Kinds, Label};
use crate::schedule::collective::CollectiveAlgorithm;
use words::{OPERANDS, SUMMANDS, Volumes};

const MAX_COUNTED_GRIDS: usize = 24;
/// Equally good grids are within this multiple of the minimum.
const MAX_EQUAL_VOLUME_RATIO: f64 = 1.01;
/// Members of a ring. A proof lists the sums that each forwards, of members^2 / 2 summands.
const MAX_RING: usize = 64;

/// A search for the grid of a contraction.
#[derive(Debug, Clone, Copy)]
pub struct GridFit<'a> {
    pub kinds: &'a Kinds,
    pub extents: &'a [usize],
    pub uncut: &'a [Label],
    pub ranks: usize,
    pub memory: Option<f64>,
}

#[derive(Debug, Clone)]
struct Tiles {
    cuts: Vec<(Label, usize)>,
    /// The indices in the largest tile over these dimensions.
    volume: f64,
}

/// With and without idle ranks, each also with fewer and more rounds, and renumbered.
pub fn candidates(setting: &Setting) -> Vec<Grid> {
    let &Setting { kinds, extents, uncut, memory, .. } = setting;
    let fit = GridFit { kinds, extents, uncut, ranks: setting.ranks(), memory };
    let tables = fit.tables();
    let mut grids: Vec<Grid> = fit.near_best(&tables, 0);
    for grid in fit.near_best(&tables, fit.idle()) {
        if !grids.contains(&grid) {
            grids.push(grid);
        }
    }
    // With too few indices for all ranks.
    if grids.is_empty() {
        grids.extend(fit.widest(&tables));
    }
    // The planner slices later.
    if grids.is_empty() && setting.forced {
        let fit = GridFit { memory: None, ..fit };
        grids.extend(fit.best(0).or_else(|| fit.widest(&fit.tables())));
    }
    // Few rounds suit long computing, and many rounds slow links.
    let rounds = |grid: Grid| [fit.few_rounds(&grid), fit.many_rounds(&grid), Some(grid)];
    grids = grids.into_iter().flat_map(rounds).flatten().collect();
    let node = setting.machine.ranks_per_node;
    if node > 1 || setting.several || setting.fixed {
        let renumbered = |grid: &Grid| {
            let summed: usize =
                grid.cuts.iter().filter(|(label, _)| kinds.k.contains(label)).map(|cut| cut.1).product();
            let ring = (2..=MAX_RING).contains(&summed).then_some(CollectiveAlgorithm::Ring);
            let algorithms = [CollectiveAlgorithm::Direct].into_iter().chain(ring).filter(|_| node > 1);
            let inside = algorithms.filter_map(|algorithm| fit.in_nodes(grid, node, algorithm));
            grid.orders().into_iter().chain(inside.collect::<Vec<_>>())
        };
        grids = grids.iter().flat_map(renumbered).collect();
    }
    grids
}

/// For c, m, n and k, the possible numbers of tiles, ascending, with the indices in the largest tile.
type Tables = [Vec<(usize, f64)>; 4];

/// The two sort keys of a grid, and its numbers of tiles along c, m, n and k.
type Found = ((f64, f64), [usize; 4]);

impl GridFit<'_> {
    /// The grid with the fewest words, and then the least work on the busiest rank. Cost: about r (ln r)^2 steps for r
    /// ranks.
    pub fn best(&self, idle: usize) -> Option<Grid> {
        self.near_best(&self.tables(), idle).into_iter().next()
    }

    /// [`GridFit::best`], then grids that cut other kinds and transfer at most 1 % more words, at the same cost.
    fn near_best(&self, tables: &Tables, idle: usize) -> Vec<Grid> {
        let least = self.ranks.saturating_sub(idle).max(1);
        let mut found = self.cheapest(tables, least, |words, work| (words, work), MAX_COUNTED_GRIDS);
        let Some(((least, _), _)) = found.first().copied() else { return Vec::new() };
        found.retain(|((words, _), _)| *words <= least * MAX_EQUAL_VOLUME_RATIO);
        let cut = |parts: [usize; 4]| parts.map(|parts| parts > 1);
        let counted = found.into_iter().filter_map(|(_, parts)| {
            let grid = self.grid(parts)?;
            Some((self.received(&grid), cut(parts), grid))
        });
        let mut counted: Vec<(u64, [bool; 4], Grid)> = counted.collect();
        counted.sort_by_key(|(words, ..)| *words);
        let least = counted.first().map_or(0, |(words, ..)| *words);
        let mut best: Vec<([bool; 4], Grid)> = Vec::new();
        for (words, kinds, grid) in counted {
            if words as f64 <= least as f64 * MAX_EQUAL_VOLUME_RATIO && best.iter().all(|(others, _)| *others != kinds)
            {
                best.push((kinds, grid));
            }
        }
        best.into_iter().map(|(_, grid)| grid).collect()
    }

    /// The grid with the least work on the busiest rank, then the fewest words, at the same cost.
    fn widest(&self, tables: &Tables) -> Option<Grid> {
        let found = self.cheapest(tables, 1, |words, work| (work, words), 1);
        self.grid(found.first()?.1)
    }

    /// The grid with `parts` tiles along c, m, n and k; `None` with too few indices or too little memory.
    pub fn grid(&self, parts: [usize; 4]) -> Option<Grid> {
        let [c, m, n, k] = self.kinds();
        let [c, m, n, k] =
            [self.tiles(c, parts[0])?, self.tiles(m, parts[1])?, self.tiles(n, parts[2])?, self.tiles(k, parts[3])?];
        let volumes = Volumes { tile: [&c, &m, &n, &k].map(|tiles| tiles.volume), parts };
        let fits =
            |slots: usize, in_place| self.memory.is_none_or(|memory| volumes.held(slots as f64, in_place) <= memory);
        let in_place = !fits(1, false);
        let free_memory = self.memory.map(|memory| memory - volumes.held(0.0, in_place));
        if free_memory.is_some_and(|free_memory| free_memory < 0.0) {
            return None;
        }
        let slots = (1..=OPERANDS).rev().find(|&slots| fits(slots, in_place)).unwrap_or(1);
        // Neighbours exchange partial sums.
        let cuts: Vec<(Label, usize)> =
            [c, m, n, k].into_iter().flat_map(|tiles| tiles.cuts).filter(|&(_, parts)| parts > 1).collect();
        let shared = self.shared(&cuts);
        let [left, right, out] = volumes.tensors();
        let summed = out / parts[3] as f64;
        // At most one round per part of a shared operand (one without), or more of `DEEP_ROUND_INDICES` indices.
        let gathers = |operand: usize| shared[operand].iter().any(|sharing| sharing.along != sharing.cut.0);
        let shares = gathers(0) || gathers(1);
        let deep = if shares { (volumes.tile[3] / DEEP_ROUND_INDICES) as usize } else { 1 };
        let summed_indices = (volumes.tile[3] as usize).max(1);
        let mut rounds = most_pieces(left.max(right)).min(deep.max(parts[1]).max(parts[2])).min(summed_indices);
        rounds = if shares { rounds } else { 1 };
        let mut pieces = most_pieces(summed);
        if let Some(free_memory) = free_memory.map(|free_memory| free_memory.max(1.0)) {
            // At most as many `rounds` or `pieces` as indices, because `held` assumes nonempty pieces.
            let [_, m, n, k] = volumes.tile;
            rounds = rounds.max((slots as f64 * volumes.travelling() / free_memory).min(k).ceil() as usize);
            pieces = pieces.max((SUMMANDS * summed / free_memory).min(m.max(n)).ceil() as usize);
        }
        Some(Grid { cuts, node: 1, shared, rounds, slots, pieces, in_place, algorithm: CollectiveAlgorithm::Direct })
    }

    /// The same grid with one round per part of an operand; `None` if it has no more rounds, or with a memory limit,
    /// because larger pieces need more.
    pub fn few_rounds(&self, grid: &Grid) -> Option<Grid> {
        let rounds = self.sharing_most(grid);
        (self.memory.is_none() && rounds < grid.rounds).then(|| Grid { rounds, ..grid.clone() })
    }

    /// The same grid with up to `MAX_PIECES` rounds, which expose less transfer time; `None` if it has them, with a
    /// memory limit, or if no operand is shared.
    pub fn many_rounds(&self, grid: &Grid) -> Option<Grid> {
        let summed: usize = self.kinds.k.iter().map(|&k| grid.tile(0, k, self.extents[k.0 as usize]).len()).product();
        let rounds = MAX_PIECES.min(summed);
        let wanted = self.memory.is_none() && self.sharing_most(grid) > 1 && rounds > grid.rounds;
        wanted.then(|| Grid { rounds, ..grid.clone() })
    }

    fn sharing_most(&self, grid: &Grid) -> usize {
        let parts = |operand: usize, labels: &[Label]| -> usize {
            let cuts = grid.cuts.iter().filter(|(label, _)| labels.contains(label) && !grid.replicates(operand));
            cuts.map(|&(_, parts)| parts).product()
        };
        parts(1, &self.kinds.m).max(parts(0, &self.kinds.n))
    }

    /// Cuts dimensions both among nodes and among the `node` ranks of each, such that few words are sent between nodes:
    /// a part of an operand, or a sum in a ring, once to each node.
    pub fn in_nodes(&self, grid: &Grid, node: usize, algorithm: CollectiveAlgorithm) -> Option<Grid> {
        if !grid.ranks().is_multiple_of(node) || grid.ranks() == node {
            return None;
        }
        let Kinds { c, m, n, k } = self.kinds;
        let words = |inside: &[usize]| -> f64 {
            let of = |tensor: usize| -> f64 {
                let lacked = [n, m, k][tensor];
                let kinds = [[c, m, k], [c, k, n], [c, m, n]][tensor];
                let lengths = kinds.into_iter().flatten().map(|&label| self.length(label, &grid.cuts) as f64);
                let cuts = grid.cuts.iter().zip(inside).filter(|((cut, _), _)| lacked.contains(cut));
                let (near, all) = cuts
                    .fold((1.0, 1.0), |(near, all), ((_, parts), inside)| (near * *inside as f64, all * *parts as f64));
                let sent = match algorithm {
                    _ if tensor < 2 => 1.0 / near - 1.0 / all,
                    CollectiveAlgorithm::Ring if near < all => (1.0 - 1.0 / all) / near,
                    _ => 1.0 - near / all,
                };
                if grid.replicates(tensor) { 0.0 } else { lengths.product::<f64>() * sent }
            };
            of(0) + of(1) + of(2)
        };
        let mut inside = vec![1; grid.cuts.len()];
        for factor in prime_factors(node) {
            let with = |at: usize| {
                let mut inside = inside.clone();
                inside[at] *= factor;
                inside
            };
            let fits = |inside: &Vec<usize>| {
                inside.iter().zip(&grid.cuts).all(|(inside, (_, parts))| parts.is_multiple_of(*inside))
            };
            inside = (0..inside.len()).map(with).filter(fits).min_by(|a, b| words(a).total_cmp(&words(b)))?;
        }
        let among = grid.cuts.iter().zip(&inside).map(|(&(cut, parts), inside)| (cut, parts / inside));
        let inside = grid.cuts.iter().zip(&inside).map(|(&(cut, _), &inside)| (cut, inside));
        let cuts: Vec<(Label, usize)> = among.chain(inside).filter(|(_, parts)| *parts > 1).collect();
        Some(Grid { shared: self.shared(&cuts), cuts, node, algorithm, ..grid.clone() })
    }

    pub fn idle(&self) -> usize {
        most_idle(self.ranks)
    }

    fn kinds(&self) -> [&[Label]; 4] {
        [&self.kinds.c, &self.kinds.m, &self.kinds.n, &self.kinds.k]
    }

    fn tables(&self) -> Tables {
        let longest = self.kinds().into_iter().flatten().map(|&label| self.extent(label)).max().unwrap_or(1);
        let primes = primes(self.ranks.min(longest));
        self.kinds().map(|labels| self.volumes(labels, &primes))
    }

    fn cheapest(
        &self,
        tables: &Tables,
        least: usize,
        price: impl Fn(f64, f64) -> (f64, f64),
        keep: usize,
    ) -> Vec<Found> {
        let tiles = |kind: usize, parts: RangeInclusive<usize>| {
            let all = tables[kind].get(parts.start() - 1).is_some_and(|(of, _)| of == parts.start());
            let from = if all { parts.start() - 1 } else { tables[kind].partition_point(|(of, _)| of < parts.start()) };
            tables[kind][from..].iter().copied().take_while(move |(of, _)| of <= parts.end())
        };
        let mut best: Vec<Found> = Vec::new();
        for (c, tc) in tiles(0, 1..=self.ranks) {
            for (m, tm) in tiles(1, 1..=self.ranks / c) {
                for (n, tn) in tiles(2, 1..=self.ranks / (c * m)) {
                    let others = c * m * n;
                    for (k, tk) in tiles(3, least.div_ceil(others)..=self.ranks / others) {
                        let volumes = Volumes { tile: [tc, tm, tn, tk], parts: [c, m, n, k] };
                        if self.memory.is_some_and(|memory| volumes.held(1.0, true) > memory) {
                            continue;
                        }
                        let price = price(volumes.words(), volumes.tile.iter().product());
                        if best.len() < keep || best.last().is_some_and(|(most, _)| price < *most) {
                            best.insert(best.partition_point(|(other, _)| *other <= price), (price, volumes.parts));
                            best.truncate(keep);
                        }
                    }
                }
            }
        }
        best
    }

    /// Cuts the dimensions of one kind, once per prime factor of `parts`; `None` with too few indices.
    fn tiles(&self, labels: &[Label], parts: usize) -> Option<Tiles> {
        let mut cuts: Vec<(Label, usize)> = labels.iter().map(|&label| (label, 1)).collect();
        prime_factors(parts).into_iter().try_for_each(|factor| self.divide(&mut cuts, factor))?;
        Some(Tiles { volume: self.volume(&cuts), cuts })
    }

    /// The possible numbers of parts up to that of ranks, ascending, and volumes of [`GridFit::tiles`]. `primes` are all
    /// up to the longest extent.
    fn volumes(&self, labels: &[Label], primes: &[usize]) -> Vec<(usize, f64)> {
        let whole: Vec<(Label, usize)> = labels.iter().map(|&label| (label, 1)).collect();
        let (mut open, mut volumes) = (vec![(1, usize::MAX, whole)], Vec::new());
        // The smallest factor is the last that divides a dimension.
        while let Some((parts, smallest, cuts)) = open.pop() {
            volumes.push((parts, self.volume(&cuts)));
            let factors = primes.iter().take_while(|&&factor| factor <= smallest && parts * factor <= self.ranks);
            open.extend(factors.filter_map(|&factor| {
                let mut cuts = cuts.clone();
                self.divide(&mut cuts, factor)?;
                Some((parts * factor, factor, cuts))
            }));
        }
        volumes.sort_unstable_by_key(|(parts, _)| *parts);
        volumes
    }

    /// Divides the dimension with the longest tiles that has enough indices.
    fn divide(&self, cuts: &mut [(Label, usize)], factor: usize) -> Option<()> {
        let fits = |&&mut (label, parts): &&mut (Label, usize)| {
            parts * factor <= self.extent(label) && !self.uncut.contains(&label)
        };
        let tile = |&(label, parts): &(Label, usize)| self.extent(label).div_ceil(parts);
        let (_, parts) = cuts.iter_mut().filter(fits).max_by_key(|cut| tile(cut))?;
        *parts *= factor;
        Some(())
    }

    fn volume(&self, cuts: &[(Label, usize)]) -> f64 {
        cuts.iter().map(|&(label, parts)| self.extent(label).div_ceil(parts) as f64).product()
    }

    fn extent(&self, label: Label) -> usize {
        self.extents[label.0 as usize]
    }
}

/// The most ranks that may be idle to receive less: 3 %, and at least one.
pub fn most_idle(ranks: usize) -> usize {
    (ranks * 3 / 100).max(1)
}

fn primes(most: usize) -> Vec<usize> {
    let mut primes: Vec<usize> = Vec::new();
    for number in 2..=most {
        let mut factors = primes.iter().take_while(|&&prime| prime * prime <= number);
        if factors.all(|&prime| !number.is_multiple_of(prime)) {
            primes.push(number);
        }
    }
    primes
}

fn prime_factors(mut number: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut factor = 2;
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            factors.push(factor);
            number /= factor;
        }
        factor += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors.reverse();
    factors
}

#[cfg(test)]
mod tests;
