//! The words that a rank of a grid stores and receives.

use super::GridFit;
use crate::algorithm::grid::Grid;
use crate::dims::Kinds;

/// Maximum slots (buffers for one piece) per operand; fewer if memory is short.
pub const OPERANDS: usize = 3;
/// Buffers that receive pieces of other ranks' partial sums.
pub const SUMMANDS: f64 = 2.0;

/// Along c, m, n and k, the indices in the largest tile, and the number of tiles.
#[derive(Clone, Copy)]
pub struct Volumes {
    pub tile: [f64; 4],
    pub parts: [usize; 4],
}

impl Volumes {
    /// The elements in a rank's tiles of `left`, `right` and `out`.
    pub fn tensors(&self) -> [f64; 3] {
        let [c, m, n, k] = self.tile;
        [c * m * k, c * k * n, c * m * n]
    }

    /// The words that the busiest rank receives, without rounding to whole indices.
    pub fn words(&self) -> f64 {
        let of_others = |sharing: usize| 1.0 - 1.0 / sharing as f64;
        let ([left, right, out], [_, m, n, k]) = (self.tensors(), self.parts);
        left * of_others(n) + right * of_others(m) + out * of_others(k)
    }

    /// The words that a rank stores: its parts of the three tensors, its partial sums, and `slots` slots per operand
    /// for one value of k. Partial sums are sent after all operands have arrived, so slots and buffers for partial sums
    /// are never needed together.
    pub fn held(&self, slots: f64, in_place: bool) -> f64 {
        let ([left, right, out], [_, m, n, k]) = (self.tensors(), self.parts);
        let own = out / k as f64;
        let summand = match (k > 1, in_place) {
            (false, _) => 0.0,
            (true, false) => out,
            (true, true) => out - own,
        };
        let tiles = left / n as f64 + right / m as f64 + own + summand;
        if slots == 0.0 {
            return tiles;
        }
        let summands = if k > 1 { SUMMANDS * own / self.tile[1].max(self.tile[2]) } else { 0.0 };
        tiles + (slots * self.travelling() / self.tile[3].max(1.0)).max(summands)
    }

    /// The elements in shared operand tiles.
    pub fn travelling(&self) -> f64 {
        let ([left, right, _], [_, m, n, _]) = (self.tensors(), self.parts);
        let moves = |tile: f64, sharing: usize| if sharing > 1 { tile } else { 0.0 };
        moves(left, n) + moves(right, m)
    }
}

impl GridFit<'_> {
    /// The exact words that the busiest rank receives. Cost: three blocks for each rank of `corners`.
    pub fn received(&self, grid: &Grid) -> u64 {
        let Kinds { c, m, n, k } = self.kinds;
        let tensors = [[c, m, k], [c, k, n], [c, m, n]].map(|kinds| kinds.map(Vec::as_slice).concat());
        let shapes = tensors.each_ref().map(|labels| labels.iter().map(|&l| self.extent(l)).collect::<Vec<_>>());
        let distributions = [0, 1, 2].map(|tensor| grid.distribution(&tensors[tensor], tensor));
        let received = |rank: usize| {
            let held = |tensor: usize| {
                distributions[tensor].block(&shapes[tensor], rank).map_or(0, |block| block.volume()) as u64
            };
            let tile = |tensor: usize| -> u64 {
                let tiles =
                    tensors[tensor].iter().map(|&label| grid.tile(rank, label, self.extent(label)).len() as u64);
                tiles.product()
            };
            let summing = grid.sharing(&tensors[2], rank).len() as u64;
            let lacks = |at: usize| if grid.replicates(at) { held(at) } else { tile(at) - held(at) };
            lacks(0) + lacks(1) + held(2) * (summing - 1)
        };
        self.corners(grid).into_iter().map(received).max().unwrap_or(0)
    }

    /// Ranks that include the busiest receiver, unless shares are cut along several dimensions: the first, the last
    /// larger and the last tile along every cut, as tiles have at most two sizes, larger first.
    pub fn corners(&self, grid: &Grid) -> Vec<usize> {
        let mut ranks = vec![0];
        for &(label, parts) in &grid.cuts {
            let larger = (self.extent(label) % parts).saturating_sub(1);
            let mut places = vec![0, larger, parts - 1];
            places.sort_unstable();
            places.dedup();
            ranks = ranks.iter().flat_map(|rank| places.iter().map(move |place| rank * parts + place)).collect();
        }
        ranks
    }
}
