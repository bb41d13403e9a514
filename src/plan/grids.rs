//! Fits a grid of ranks to a contraction: how many tiles along c, m, n and k move the fewest words.
//!
//! Source: the COSMA paper, section 7.1 (grids fitted to the extents, some ranks idle where that moves less), by trying
//! all numbers of tiles. Invariant: no rank has more than its memory. Deliberately absent: what it takes ([`super::cost`]).

use crate::algorithm::{Grid, most_pieces};
use crate::dims::{Kinds, Label};
use crate::schedule::collective::Way;

/// Slots for pieces of each operand that travel or are contracted.
const SLOTS: f64 = 3.0;
/// Slots for pieces of others' summands.
const SUMMANDS: f64 = 2.0;

/// A contraction that is to be cut over a grid of ranks.
///
/// ```
/// use einsum_dist::dims::{Kinds, Label};
/// use einsum_dist::plan::Fit;
/// // mk,kn->mn, a cube: one of 65 ranks is idle, as 4 x 4 x 4 move a third less than 13 x 5 x 1.
/// let [m, n, k] = [0, 1, 2].map(Label);
/// let kinds = Kinds { c: vec![], m: vec![m], n: vec![n], k: vec![k] };
/// let fit = Fit { kinds: &kinds, extents: &[16384; 3], uncut: &[], ranks: 65, memory: None };
/// assert_eq!(fit.best(fit.idle()).unwrap().cuts, [(m, 4), (n, 4), (k, 4)]);
/// assert_eq!(fit.best(0).unwrap().ranks(), 65);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Fit<'a> {
    /// The dimensions by kind.
    pub kinds: &'a Kinds,
    /// By label.
    pub extents: &'a [usize],
    /// Dimensions that are not to be cut.
    pub uncut: &'a [Label],
    /// How many there are.
    pub ranks: usize,
    /// Elements that a rank may hold.
    pub memory: Option<f64>,
}

/// Tiles of the dimensions of one kind.
#[derive(Debug, Clone)]
struct Tiles {
    cuts: Vec<(Label, usize)>,
    /// Indices of the largest tile.
    volume: f64,
}

/// What it costs, and the tiles and their numbers by kind.
type Found<'a> = ((f64, f64), [&'a Tiles; 4], [usize; 4]);

impl Fit<'_> {
    /// The grid that moves the fewest words with at most so many ranks idle; of equals, that with the least work for the
    /// busiest. `None` where none fits into memory, or there are not so many indices. Cost: about r (ln r)^2 steps for r
    /// ranks.
    pub fn best(&self, idle: usize) -> Option<Grid> {
        self.cheapest(self.ranks.saturating_sub(idle).max(1), |words, work| (words, work))
    }

    /// The grid with the least work for the busiest rank; of equals, that which moves the fewest words. Cost: as
    /// [`Fit::best`].
    pub fn widest(&self) -> Option<Grid> {
        self.cheapest(1, |words, work| (work, words))
    }

    fn cheapest(&self, least: usize, price: impl Fn(f64, f64) -> (f64, f64)) -> Option<Grid> {
        let kinds = [&self.kinds.c, &self.kinds.m, &self.kinds.n, &self.kinds.k];
        let tables = kinds.map(|labels| (1..=self.ranks).map(|parts| self.tiles(labels, parts)).collect::<Vec<_>>());
        let tiles = |kind: usize, parts: usize| tables[kind].get(parts - 1).and_then(Option::as_ref);
        let mut best: Option<Found> = None;
        for c in 1..=self.ranks {
            let Some(tc) = tiles(0, c) else { continue };
            for m in 1..=self.ranks / c {
                let Some(tm) = tiles(1, m) else { continue };
                for n in 1..=self.ranks / (c * m) {
                    let Some(tn) = tiles(2, n) else { continue };
                    let others = c * m * n;
                    for k in least.div_ceil(others)..=self.ranks / others {
                        let Some(tk) = tiles(3, k) else { continue };
                        let (parts, tiles) = ([c, m, n, k], [tc, tm, tn, tk]);
                        let volumes = tiles.map(|tiles| tiles.volume);
                        if self.memory.is_some_and(|memory| held(volumes, parts) > memory) {
                            continue;
                        }
                        let price = price(words(volumes, parts), volumes.iter().product());
                        if best.as_ref().is_none_or(|(least, ..)| price < *least) {
                            best = Some((price, tiles, parts));
                        }
                    }
                }
            }
        }
        best.map(|(_, tiles, parts)| self.grid(tiles, parts))
    }

    /// How many ranks may be idle where that moves less: one, and of more than 33 ranks 3 %.
    pub fn idle(&self) -> usize {
        (self.ranks * 3 / 100).max(1)
    }

    /// So many tiles of the dimensions of one kind, the factors of their number dealt to whatever is longest; `None` where
    /// there are not so many.
    fn tiles(&self, labels: &[Label], parts: usize) -> Option<Tiles> {
        let extent = |label: Label| self.extents[label.0 as usize];
        let mut cuts: Vec<(Label, usize)> = labels.iter().map(|&label| (label, 1)).collect();
        for factor in prime_factors(parts) {
            let fits = |&&mut (label, parts): &&mut (Label, usize)| {
                parts * factor <= extent(label) && !self.uncut.contains(&label)
            };
            let (_, parts) =
                cuts.iter_mut().filter(fits).max_by_key(|(label, parts)| extent(*label).div_ceil(*parts))?;
            *parts *= factor;
        }
        let volume = cuts.iter().map(|&(label, parts)| extent(label).div_ceil(parts) as f64).product();
        Some(Tiles { cuts, volume })
    }

    fn grid(&self, tiles: [&Tiles; 4], parts: [usize; 4]) -> Grid {
        let length = |label: Label| {
            let cut = tiles.iter().flat_map(|tiles| &tiles.cuts).find(|(cut, _)| *cut == label);
            self.extents[label.0 as usize].div_ceil(cut.map_or(1, |cut| cut.1))
        };
        let longest = |labels: &[&Vec<Label>]| {
            let all = labels.iter().flat_map(|labels| labels.iter().copied());
            all.min_by_key(|&label| std::cmp::Reverse(length(label)))
        };
        let Kinds { c, m, n, k } = self.kinds;
        // Along what is summed, pieces of both operands come in the same order.
        let operand = |of: &Vec<Label>, sharing: usize| {
            longest(&[k]).filter(|&label| length(label) >= sharing).or_else(|| longest(&[k, of, c]))
        };
        let shared = [operand(m, parts[2]), operand(n, parts[1]), longest(&[m, n, c])];
        let [_, m, n, k] = tiles;
        let volumes = tiles.map(|tiles| tiles.volume);
        let [left, right, out] = tensors(volumes);
        let summed = out / parts[3] as f64;
        let (mut rounds, mut pieces) = (most_pieces(left.max(right)), most_pieces(summed));
        if let Some(memory) = self.memory {
            let room = (memory - tiles_held(volumes, parts)).max(1.0);
            let [left, right] = [(left, parts[2]), (right, parts[1])].map(|(tile, n)| if n > 1 { tile } else { 0.0 });
            rounds = rounds.max((SLOTS * (left + right) / room).ceil() as usize);
            pieces = pieces.max((SUMMANDS * summed / room).ceil() as usize);
        }
        // Neighbouring ranks differ in what is summed: what they add up travels the shortest way.
        let cuts = [tiles[0], m, n, k].into_iter().flat_map(|tiles| tiles.cuts.iter().copied());
        Grid { cuts: cuts.filter(|&(_, parts)| parts > 1).collect(), shared, rounds, pieces, way: Way::Direct }
    }
}

/// Elements of a rank's tiles of left, right and out, given its indices of each kind.
fn tensors([c, m, n, k]: [f64; 4]) -> [f64; 3] {
    [c * m * k, c * k * n, c * m * n]
}

/// Words that a rank with such a tile receives.
fn words(volumes: [f64; 4], [_, m, n, k]: [usize; 4]) -> f64 {
    let of_others = |sharing: usize| 1.0 - 1.0 / sharing as f64;
    let [left, right, out] = tensors(volumes);
    left * of_others(n) + right * of_others(m) + out * of_others(k)
}

/// Words that a rank holds at least: its tiles, and the smallest slots that pieces fit into.
fn held(volumes: [f64; 4], parts: [usize; 4]) -> f64 {
    let ([left, right, out], [_, m, n, k]) = (tensors(volumes), parts);
    // A piece has one index of a dimension; summands travel when all operands have come.
    let piece =
        |tile: f64, along: f64, slots: f64, parts: usize| if parts > 1 { slots * tile / along.max(1.0) } else { 0.0 };
    let operands = piece(left, volumes[3], SLOTS, n) + piece(right, volumes[3], SLOTS, m);
    tiles_held(volumes, parts) + operands.max(piece(out / k as f64, volumes[1].max(volumes[2]) / k as f64, SUMMANDS, k))
}

/// Words of a rank's parts of the three tensors, and of its summand of out.
fn tiles_held(volumes: [f64; 4], [_, m, n, k]: [usize; 4]) -> f64 {
    let [left, right, out] = tensors(volumes);
    left / n as f64 + right / m as f64 + out / k as f64 + if k > 1 { out } else { 0.0 }
}

/// Largest first.
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
mod tests {
    use super::*;

    fn product(ranks: usize, extents: [usize; 3], some_idle: bool) -> Grid {
        let [m, n, k] = [0, 1, 2].map(Label);
        let kinds = Kinds { c: vec![], m: vec![m], n: vec![n], k: vec![k] };
        let fit = Fit { kinds: &kinds, extents: &extents, uncut: &[], ranks, memory: None };
        fit.best(if some_idle { fit.idle() } else { 0 }).unwrap()
    }

    #[test]
    fn grids_fit_the_extents() {
        let parts = |grid: &Grid| [0, 1, 2].map(|l| grid.cuts.iter().find(|c| c.0 == Label(l)).map_or(1, |c| c.1));
        assert_eq!(parts(&product(64, [4096, 4096, 4096], true)), [4, 4, 4]);
        // Tall and thin: only what is long is cut.
        assert_eq!(parts(&product(16, [64, 64, 1 << 20], false)), [1, 1, 16]);
        assert_eq!(parts(&product(16, [1 << 20, 64, 64], false)), [16, 1, 1]);
        // A prime number of ranks: one is idle.
        assert_eq!(product(65, [4096, 4096, 4096], true).ranks(), 64);
    }

    #[test]
    fn factors_of_numbers() {
        assert_eq!(prime_factors(1), [0; 0]);
        assert_eq!(prime_factors(360), [5, 3, 3, 2, 2, 2]);
        assert_eq!(prime_factors(9217), [709, 13]);
    }
}
