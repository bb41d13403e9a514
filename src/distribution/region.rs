//! Regions of a tensor, and boxes (regions of single intervals).

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Intervals;

/// A box: one half-open interval per dimension.
pub type Bounds = Vec<Range<usize>>;

pub fn volume(bounds: &[Range<usize>]) -> usize {
    bounds.iter().map(Range::len).product()
}

pub fn is_empty(bounds: &[Range<usize>]) -> bool {
    bounds.iter().any(Range::is_empty)
}

/// Disjoint boxes of `from` without the box `hole` in it.
pub fn without(from: &[Range<usize>], hole: &[Range<usize>]) -> Vec<Bounds> {
    let mut rest = from.to_vec();
    let mut pieces = Vec::new();
    for dim in 0..from.len() {
        for side in [rest[dim].start..hole[dim].start, hole[dim].end..rest[dim].end] {
            if !side.is_empty() {
                let mut piece = rest.clone();
                piece[dim] = side;
                pieces.push(piece);
            }
        }
        rest[dim] = hole[dim].clone();
    }
    pieces
}

/// A Cartesian product of index sets, one per dimension. Without dimensions, it has one element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Region(Vec<Intervals>);

impl From<Bounds> for Region {
    fn from(bounds: Bounds) -> Region {
        Region(bounds.into_iter().map(Intervals::from).collect())
    }
}

impl From<Vec<Intervals>> for Region {
    fn from(dims: Vec<Intervals>) -> Region {
        Region(dims)
    }
}

impl Region {
    /// All elements of a tensor.
    pub fn whole(shape: &[usize]) -> Region {
        Region(shape.iter().map(|&extent| Intervals::from(0..extent)).collect())
    }

    /// The bounds of a single box, as after even cuts.
    pub(crate) fn only_box(&self) -> Bounds {
        self.0.iter().map(|dim| dim.ranges().first().cloned().unwrap_or(0..0)).collect()
    }

    /// The bounds, if the region is a single box or empty.
    pub(crate) fn as_box(&self) -> Option<Bounds> {
        self.0.iter().all(|dim| dim.ranges().len() < 2).then(|| self.only_box())
    }

    /// The index set of each dimension.
    pub fn dims(&self) -> &[Intervals] {
        &self.0
    }

    /// The number of indices in each dimension.
    pub fn extents(&self) -> Vec<usize> {
        self.0.iter().map(Intervals::len).collect()
    }

    /// The number of elements.
    pub fn volume(&self) -> usize {
        self.0.iter().map(Intervals::len).product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.iter().any(Intervals::is_empty)
    }

    /// The elements in both regions of the same tensor.
    pub fn intersect(&self, other: &Region) -> Region {
        debug_assert!(self.0.len() == other.0.len());
        Region(self.0.iter().zip(&other.0).map(|(a, b)| a.intersect(b)).collect())
    }

    /// The number of elements in both regions.
    pub(crate) fn common(&self, other: &Region) -> usize {
        self.0.iter().zip(&other.0).map(|(a, b)| a.intersect(b).len()).product()
    }

    /// The union, if the regions are adjacent intervals along one dimension and equal in all others.
    pub fn joined(&self, other: &Region) -> Option<Region> {
        let mut differ = self.0.iter().zip(&other.0).enumerate().filter(|(_, (a, b))| a != b);
        let (dim, (a, b)) = differ.next().filter(|_| self.0.len() == other.0.len())?;
        let ([a], [b], None) = (a.ranges(), b.ranges(), differ.next()) else { return None };
        let both = if a.end == b.start { a.start..b.end } else { b.start..a.end };
        (both.len() == a.len() + b.len()).then(|| {
            let mut dims = self.0.clone();
            dims[dim] = Intervals::from(both);
            Region(dims)
        })
    }

    /// Whether the regions have an element in common.
    pub fn meets(&self, other: &Region) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a.meets(b))
    }

    /// Whether no two regions meet. Cost: O(n log n) if few overlap along one dimension.
    pub(crate) fn are_disjoint(regions: &[&Region]) -> bool {
        let starts = |dim: usize| regions.iter().map(move |region| region.0[dim].ranges().first().map(|r| r.start));
        let dims = regions.first().map_or(0, |region| region.0.len());
        // Few regions overlap along the dimension with the most different starts.
        let Some(dim) = (0..dims).max_by_key(|&dim| starts(dim).collect::<HashSet<_>>().len()) else {
            return regions.len() < 2;
        };
        let mut ascending: Vec<&Region> = regions.iter().copied().filter(|region| !region.is_empty()).collect();
        let span = |region: &Region| region.0[dim].span();
        ascending.sort_by_key(|region| span(region).start);
        let mut open: Vec<&Region> = Vec::new();
        ascending.into_iter().all(|next| {
            open.retain(|region| span(region).end > span(next).start);
            let apart = !open.iter().any(|region| region.meets(next));
            open.push(next);
            apart
        })
    }

    /// The boxes of the region, in row-major order of their first elements.
    pub fn boxes(&self) -> Vec<Bounds> {
        if self.0.iter().all(|dim| dim.ranges().len() == 1) {
            return vec![self.only_box()];
        }
        let mut boxes: Vec<Bounds> = vec![Vec::new()];
        for dim in &self.0 {
            boxes = boxes
                .into_iter()
                .flat_map(|head| {
                    dim.ranges().iter().map(move |range| {
                        let mut bounds = head.clone();
                        bounds.push(range.clone());
                        bounds
                    })
                })
                .collect();
        }
        boxes
    }

    /// Each box in the tensor and in a dense array of the region.
    pub fn stored_boxes(&self) -> impl Iterator<Item = (Bounds, Bounds)> {
        self.boxes().into_iter().filter_map(|bounds| Some((bounds.clone(), self.locate(&bounds)?)))
    }

    /// The box in a dense array of this region; `None` unless each interval is inside one of the region's.
    pub fn locate(&self, bounds: &[Range<usize>]) -> Option<Bounds> {
        each_dim(self.0.iter().zip(bounds).map(|(dim, run)| dim.locate(run)))
    }

    /// The region `of` in a dense array of this region; `None` if it is not a single box there.
    pub fn positions(&self, of: &Region) -> Option<Bounds> {
        each_dim(self.0.iter().zip(&of.0).map(|(dim, of)| dim.positions(of)))
    }
}

/// Without spare capacity, because schedules have very many lists.
fn each_dim(ranges: impl ExactSizeIterator<Item = Option<Range<usize>>>) -> Option<Bounds> {
    let mut bounds = Vec::with_capacity(ranges.len());
    for range in ranges {
        bounds.push(range?);
    }
    Some(bounds)
}

#[cfg(test)]
mod tests;
