//! Grids of ranks, and the block that each rank holds.

use serde::{Deserialize, Serialize};

use super::{Intervals, Region, tile_bounds};

/// What one axis of the grid does to the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Cuts dimension `dim` (its position in the tensor) into even tiles, one per coordinate.
    Cut {
        /// From 0 on.
        dim: usize,
    },
    /// Every coordinate holds the same.
    Replicate,
    /// The tensor is the sum over the coordinates.
    Partial,
}

/// One axis of the grid of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Axis {
    /// How many coordinates there are.
    pub ranks: usize,
    /// What it does.
    pub role: Role,
}

/// How a tensor lies over ranks: a row-major grid of ranks (last axis fastest). Ranks beyond the grid hold nothing.
///
/// Axes that cut the same dimension nest: the later axis cuts the tile of the earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Distribution(Vec<Axis>);

impl Distribution {
    /// A grid of these axes.
    ///
    /// # Panics
    /// When an axis has no rank.
    pub fn new(axes: Vec<Axis>) -> Distribution {
        assert!(axes.iter().all(|axis| axis.ranks > 0), "every axis has a rank");
        Distribution(axes)
    }

    /// All of the tensor on rank 0.
    pub fn single() -> Distribution {
        Distribution(Vec::new())
    }

    /// Even tiles of dimension `dim` over `ranks` ranks.
    pub fn cut(dim: usize, ranks: usize) -> Distribution {
        Distribution::new(vec![Axis { ranks, role: Role::Cut { dim } }])
    }

    /// All of the tensor on each of `ranks` ranks.
    pub fn replicated(ranks: usize) -> Distribution {
        Distribution::new(vec![Axis { ranks, role: Role::Replicate }])
    }

    /// A summand of the tensor on each of `ranks` ranks.
    pub fn partial(ranks: usize) -> Distribution {
        Distribution::new(vec![Axis { ranks, role: Role::Partial }])
    }

    /// The grid, the slowest axis first.
    pub fn axes(&self) -> &[Axis] {
        &self.0
    }

    /// How many ranks the grid has.
    pub fn ranks(&self) -> usize {
        self.0.iter().map(|axis| axis.ranks).product()
    }

    /// The first dimension that an axis cuts into more than one tile, if any.
    pub fn first_cut(&self) -> Option<usize> {
        self.0.iter().find_map(|axis| match axis.role {
            Role::Cut { dim } if axis.ranks > 1 => Some(dim),
            _ => None,
        })
    }

    /// The coordinates of a rank in the grid; `None` beyond it.
    pub fn coordinates(&self, rank: usize) -> Option<Vec<usize>> {
        let mut rest = rank;
        let mut coordinates = vec![0; self.0.len()];
        for (coordinate, axis) in coordinates.iter_mut().zip(&self.0).rev() {
            *coordinate = rest % axis.ranks;
            rest /= axis.ranks;
        }
        (rest == 0).then_some(coordinates)
    }

    /// The block of `rank`; `None` beyond the grid (the rank holds nothing at all).
    pub fn block(&self, shape: &[usize], rank: usize) -> Option<Region> {
        let coordinates = self.coordinates(rank)?;
        let mut bounds: Vec<_> = shape.iter().map(|&extent| 0..extent).collect();
        for (axis, coordinate) in self.0.iter().zip(coordinates) {
            if let Role::Cut { dim } = axis.role {
                let tile = tile_bounds(bounds[dim].len(), axis.ranks, coordinate);
                bounds[dim] = bounds[dim].start + tile.start..bounds[dim].start + tile.end;
            }
        }
        Some(Region::from(bounds))
    }

    /// The block of `rank`, empty beyond the grid.
    pub fn block_or_empty(&self, shape: &[usize], rank: usize) -> Region {
        self.block(shape, rank).unwrap_or_else(|| {
            // A tensor of no dimensions has no empty region; the buffer of such a rank is declared absent instead.
            Region::from(shape.iter().map(|_| 0..0).collect::<Vec<_>>())
        })
    }

    /// Which summand `rank` holds: its coordinates on the partial axes, as one number.
    pub fn summand(&self, rank: usize) -> Option<usize> {
        let coordinates = self.coordinates(rank)?;
        let partial = self.0.iter().zip(coordinates).filter(|(axis, _)| axis.role == Role::Partial);
        Some(partial.fold(0, |number, (axis, coordinate)| number * axis.ranks + coordinate))
    }

    /// Whether `rank` is the first of the ranks that hold the same; of several replicas, the one that writes a file.
    pub fn is_first_replica(&self, rank: usize) -> bool {
        self.coordinates(rank).is_some_and(|coordinates| {
            let mut axes = self.0.iter().zip(coordinates);
            axes.all(|(axis, coordinate)| axis.role != Role::Replicate || coordinate == 0)
        })
    }

    /// How many summands make up the tensor; 1 when every block holds final values.
    pub fn summands(&self) -> usize {
        self.0.iter().filter(|axis| axis.role == Role::Partial).map(|axis| axis.ranks).product()
    }

    /// The extents of the largest block, dimension by dimension.
    pub fn largest_block(&self, shape: &[usize]) -> Vec<usize> {
        // Even tiles come larger first, so the first rank of the grid holds the largest block.
        self.block_or_empty(shape, 0).dims().iter().map(Intervals::len).collect()
    }

    /// The distribution as text, with the names of the tensor's dimensions: `m/4`, `k/2 n/3`, `x3`, `sum/2`, `rank 0`.
    pub fn describe(&self, names: &[&str]) -> String {
        let parts = self.0.iter().map(|axis| match axis.role {
            Role::Cut { dim } => format!("{}/{}", names[dim], axis.ranks),
            Role::Replicate => format!("x{}", axis.ranks),
            Role::Partial => format!("sum/{}", axis.ranks),
        });
        if self.0.is_empty() { "rank 0".to_owned() } else { parts.collect::<Vec<_>>().join(" ") }
    }
}
