//! Describes how a tensor is distributed over ranks.
//!
//! A [`Distribution`] arranges ranks as a grid. Each axis of the grid cuts one dimension (evenly, block-cyclically or
//! at given indices; see [`Cut`]), replicates the tensor, or distinguishes partial sums. A rank stores its *block*, a
//! [`Region`] of the tensor. This module only computes with extents; it neither accesses the tensor's data nor
//! communicates.
//!
//! ```text
//! shape [5, 4] over 3 ranks, cut along dimension 0        rank 0: [0..2, 0..4]
//!                                                         rank 1: [2..4, 0..4]
//!                                                         rank 2: [4..5, 0..4]
//! ```
//!
//! Invariant: for every choice of coordinates on the partial axes, the blocks of a distribution cover the tensor;
//! blocks of ranks that differ on a cutting axis are disjoint. Every block is a product of index sets, one per
//! dimension.

mod cut;
mod error;
mod intervals;
mod owners;
mod rank_grid;
mod region;
mod tile;

pub use cut::Cut;
pub use error::GridError;
pub use intervals::Intervals;
pub use owners::Owners;
pub use rank_grid::{Axis, Distribution, Role};
pub use region::{Bounds, Region, is_empty, volume, without};
pub use tile::tile_bounds;
