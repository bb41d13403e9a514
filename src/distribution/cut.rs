//! Cuts of a dimension into tiles.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Intervals, tile_bounds};

/// How an axis cuts a dimension into tiles, one per coordinate.
///
/// ```
/// # use einsum_dist::Cut;
/// let tiles = |cut: Cut| (0..3).map(|i| cut.tile(10, 3, i).ranges().to_vec()).collect::<Vec<_>>();
/// assert_eq!(tiles(Cut::Even), [vec![0..4], vec![4..7], vec![7..10]]);
/// assert_eq!(tiles(Cut::cyclic(2)), [vec![0..2, 6..8], vec![2..4, 8..10], vec![4..6]]);
/// assert_eq!(tiles(Cut::Cyclic { block: 2, first: 1 }), [vec![0..1, 5..7], vec![1..3, 7..9], vec![3..5, 9..10]]);
/// assert_eq!(tiles(Cut::At(vec![1, 9])), [vec![0..1], vec![1..9], vec![9..10]]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// Contiguous tiles, larger ones first, with sizes that differ by at most one.
    #[default]
    Even,
    /// Blocks of `block` indices go to the coordinates round-robin.
    Cyclic {
        /// At least 1.
        block: usize,
        /// The length of the first block, which differs in submatrices. At least 1.
        first: usize,
    },
    /// Tiles end at these ascending indices, the last at the extent; those beyond it are empty.
    At(Vec<usize>),
}

impl Cut {
    /// With equal blocks.
    pub fn cyclic(block: usize) -> Cut {
        Cut::Cyclic { block, first: block }
    }

    /// The indices in `0..extent` of coordinate `index` of `parts`. Cost: O(cyclic blocks).
    pub fn tile(&self, extent: usize, parts: usize, index: usize) -> Intervals {
        match self {
            Cut::Even => Intervals::from(tile_bounds(extent, parts, index)),
            Cut::Cyclic { .. } if parts == 1 => Intervals::from(0..extent),
            Cut::Cyclic { block, first } => {
                let own = (index == 0).then(|| 0..extent.min(*first));
                let starts = (later(*block, *first, parts, index)..extent).step_by(parts.saturating_mul(*block));
                let later = starts.map(|start| start..start.saturating_add(*block).min(extent));
                Intervals::ascending(own.into_iter().chain(later))
            }
            Cut::At(bounds) => {
                let bound = |at: usize| bounds.get(at).map_or(extent, |&bound| bound.min(extent));
                let start = if index == 0 { 0 } else { bound(index - 1) };
                Intervals::from(start..bound(index))
            }
        }
    }

    /// The length of [`Cut::tile`]. Cost: O(1).
    pub fn len(&self, extent: usize, parts: usize, index: usize) -> usize {
        match self {
            Cut::Cyclic { block, first } if parts > 1 => {
                let (turn, start) = (parts.saturating_mul(*block), later(*block, *first, parts, index));
                let rest = extent.saturating_sub(start);
                let own = if index == 0 { extent.min(*first) } else { 0 };
                own + rest / turn * block + (rest % turn).min(*block)
            }
            Cut::Even | Cut::Cyclic { .. } | Cut::At(_) => self.tile(extent, parts, index).len(),
        }
    }

    /// Coordinates that include those whose tiles of `set` meet `span`, and no others if cuts are even
    /// and `set` is an interval. Cost: O(1).
    pub(super) fn tiles_near(&self, set: &Intervals, parts: usize, span: Range<usize>) -> Range<usize> {
        let (Cut::Even, [all]) = (self, set.ranges()) else { return 0..parts };
        let (size, larger) = (all.len() / parts, all.len() % parts);
        let of = |position: usize| match position.checked_sub(larger * (size + 1)) {
            Some(position) => larger + position / size.max(1),
            None => position / (size + 1),
        };
        let (start, end) = (span.start.max(all.start), span.end.min(all.end));
        if start < end { of(start - all.start)..of(end - 1 - all.start) + 1 } else { 0..0 }
    }

    /// The length of the largest tile.
    pub fn largest(&self, extent: usize, parts: usize) -> usize {
        match self {
            Cut::Even => self.tile(extent, parts, 0).len(),
            // Later tiles are not larger.
            Cut::Cyclic { .. } => (0..parts.min(2)).map(|index| self.len(extent, parts, index)).max().unwrap_or(0),
            Cut::At(_) => (0..parts).map(|index| self.tile(extent, parts, index).len()).max().unwrap_or(0),
        }
    }

    /// Whether this cut is valid for `parts` coordinates.
    pub fn fits(&self, parts: usize) -> bool {
        match self {
            Cut::Even => true,
            Cut::Cyclic { block, first } => *block > 0 && *first > 0,
            Cut::At(bounds) => bounds.len() + 1 == parts && bounds.is_sorted(),
        }
    }

    /// An upper bound for the intervals in a tile: one per round of a block-cyclic cut. Cost: O(1).
    pub(super) fn pieces(&self, extent: usize, parts: usize) -> usize {
        match self {
            Cut::Cyclic { block, first } if parts > 1 => {
                let (block, rest) = ((*block).max(1), extent.saturating_sub(*first));
                let [own, others] = [block.saturating_mul(parts - 1), 0]
                    .map(|before| rest.saturating_sub(before).div_ceil(block.saturating_mul(parts)));
                (1 + own).max(others)
            }
            Cut::Even | Cut::Cyclic { .. } | Cut::At(_) => 1,
        }
    }

    /// The text after the dimension in `Distribution::describe`: empty for an even cut, else such as ` cyclic(2)` or `
    /// at(1,9)`.
    pub(super) fn describe(&self) -> String {
        match self {
            Cut::Even => String::new(),
            Cut::Cyclic { block, first } if first == block => format!(" cyclic({block})"),
            Cut::Cyclic { block, first } => format!(" cyclic({block}, first {first})"),
            Cut::At(bounds) => {
                let bounds: Vec<String> = bounds.iter().map(usize::to_string).collect();
                format!(" at({})", bounds.join(","))
            }
        }
    }
}

/// The start of a coordinate's first block, apart from the first of all. A saturated number is at least as large as any
/// extent.
fn later(block: usize, first: usize, parts: usize, index: usize) -> usize {
    first.saturating_add(((index + parts - 1) % parts).saturating_mul(block))
}

#[cfg(test)]
mod tests;
