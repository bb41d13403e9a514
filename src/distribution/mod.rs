//! Describes how a tensor is distributed over ranks.
//!
//! A [`Distribution`] arranges ranks as a grid. Each axis cuts one dimension ([`Cut`]), replicates the tensor, or has
//! partial sums on its ranks. A rank stores a [`Region`] of the tensor, its *block*. This module only computes with
//! extents.
//!
//! ```text
//! shape [5, 4] over 3 ranks, cut along dimension 0        rank 0: [0..2, 0..4]
//!                                                         rank 1: [2..4, 0..4]
//!                                                         rank 2: [4..5, 0..4]
//! ```
//!
//! Invariants: for any fixed coordinates along the axes of partial sums, the blocks of all ranks cover the tensor. If
//! two ranks have different coordinates along an axis that cuts, their blocks are disjoint. Every block is a Cartesian
//! product of index sets, one per dimension.

mod cut;
mod intervals;
mod owners;
mod rank_grid;
mod region;
mod tile;

pub use cut::Cut;
pub use intervals::Intervals;
pub use owners::Owners;
pub use rank_grid::{Axis, Distribution, GridError, Role};
pub use region::{Bounds, Region, is_empty, volume, without};
pub use tile::tile_bounds;
