//! Divides a tile among the ranks that need it. Cuts along two dimensions can make the parts more even:
//!
//! ```text
//! out of 8704 x 8704 on 576 ranks along k: parts of at most 16 rows, or 24 x 24 of 363 x 363, 5 % smaller
//! ```

use std::cmp::Reverse;

use super::{GridFit, prime_factors};
use crate::algorithm::grid::Sharing;
use crate::algorithm::grid::cuts::levels;
use crate::dims::{Kinds, Label};

const MIN_REPLICAS: usize = 16;
/// A replica takes at most one of these parts of the limit.
const PARTS_OF_MEMORY: f64 = 64.0;

impl GridFit<'_> {
    /// Divides operands along a summed dimension with nearly even parts, so that pieces of both arrive in the same order;
    /// others along the longest dimension, or several if the parts are then more even. An operand that is not sliced,
    /// with at most one element per rank that shares a tile, is replicated: a broadcast takes fewer messages.
    pub(super) fn shared(&self, cuts: &[(Label, usize)]) -> [Vec<Sharing>; 3] {
        let Kinds { c, m, n, k } = self.kinds;
        let [left, right, out] = [[c, m, k], [c, k, n], [c, m, n]].map(|kinds| kinds.map(Vec::as_slice).concat());
        [(left, true), (right, true), (out, false)].map(|(labels, operand)| {
            let lacking = levels(cuts).filter(|level| !labels.contains(&level.cut.0));
            let lacking: Vec<((Label, usize), usize)> = lacking.map(|level| (level.cut, level.parts)).collect();
            let sharing: usize = lacking.iter().map(|(_, parts)| parts).product();
            let all: usize = labels.iter().map(|&label| self.extent(label)).fold(1, usize::saturating_mul);
            let whole = labels.iter().all(|label| !self.uncut.contains(label));
            let fits = self.memory.is_none_or(|memory| PARTS_OF_MEMORY * all as f64 <= memory);
            if operand && whole && fits && sharing >= MIN_REPLICAS.max(all) {
                return lacking.first().map(|&(cut, ranks)| Sharing { cut, along: cut.0, ranks }).into_iter().collect();
            }
            let free = labels.iter().filter(|label| !self.uncut.contains(label));
            let tile = Tile { lengths: free.map(|&label| (label, [self.length(label, cuts); 2])).collect(), operand };
            let summed =
                tile.longest(|label| operand && k.contains(&label)).filter(|(_, length)| even(*length, sharing));
            let ways = match summed.or_else(|| tile.longest(|_| true)) {
                None => return Vec::new(),
                Some((along, _)) => [tile.clone().along(along, &lacking), tile.deal(&lacking)],
            };
            let [one, several] = ways;
            if summed.is_some() || one.0 <= several.0 { one.1 } else { several.1 }
        })
    }

    /// Indices in the largest tile of a dimension.
    pub(super) fn length(&self, label: Label, cuts: &[(Label, usize)]) -> usize {
        let parts: usize = cuts.iter().filter(|(cut, _)| *cut == label).map(|(_, parts)| parts).product();
        self.extent(label).div_ceil(parts)
    }
}

/// Whether the smallest part lacks at most 2 % more than an even one.
fn even(length: usize, ranks: usize) -> bool {
    length >= ranks && 50 * (length % ranks) <= length.saturating_mul(ranks - 1)
}

/// The indices in the largest and in the smallest part.
#[derive(Clone)]
struct Tile {
    lengths: Vec<(Label, [usize; 2])>,
    operand: bool,
}

impl Tile {
    fn longest(&self, which: impl Fn(Label) -> bool) -> Option<(Label, usize)> {
        let lengths = self.lengths.iter().map(|&(label, [length, _])| (label, length));
        lengths.filter(|(label, _)| which(*label)).min_by_key(|(_, length)| Reverse(*length))
    }

    fn cut(&mut self, along: Label, ranks: usize) {
        for (_, [largest, smallest]) in self.lengths.iter_mut().filter(|(label, _)| *label == along) {
            (*largest, *smallest) = (largest.div_ceil(ranks), *smallest / ranks);
        }
    }

    /// The smallest part of an operand lacks the most, the largest of `out` receives the most.
    fn unevenness(&self) -> (Reverse<usize>, usize) {
        let [largest, smallest] =
            [0, 1].map(|at| self.lengths.iter().map(|(_, lengths)| lengths[at]).product::<usize>());
        (Reverse(if self.operand { smallest } else { 0 }), largest)
    }

    fn along(mut self, along: Label, lacking: &[((Label, usize), usize)]) -> ((Reverse<usize>, usize), Vec<Sharing>) {
        lacking.iter().for_each(|&(_, ranks)| self.cut(along, ranks));
        (self.unevenness(), lacking.iter().map(|&(cut, ranks)| Sharing { cut, along, ranks }).collect())
    }

    fn deal(mut self, lacking: &[((Label, usize), usize)]) -> ((Reverse<usize>, usize), Vec<Sharing>) {
        let mut shared: Vec<Sharing> = Vec::new();
        for &(cut, parts) in lacking {
            for ranks in prime_factors(parts) {
                let Some((along, _)) = self.longest(|_| true) else { continue };
                self.cut(along, ranks);
                match shared.iter_mut().find(|sharing| sharing.cut == cut && sharing.along == along) {
                    Some(sharing) => sharing.ranks *= ranks,
                    None => shared.push(Sharing { cut, along, ranks }),
                }
            }
        }
        (self.unevenness(), shared)
    }
}

#[cfg(test)]
mod tests;
