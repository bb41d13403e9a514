//! How a tensor is distributed over ranks.
//!
//! A [`Distribution`] is a grid of ranks. Each axis cuts a dimension ([`Cut`]), replicates the tensor, or has partial
//! sums. A rank stores a [`Region`] of the tensor, its *block*.
//!
//! Invariants: for any coordinates along the axes of partial sums, the blocks cover the tensor. Ranks with different
//! coordinates along an axis that cuts have disjoint blocks.

mod alike;
mod cut;
mod intervals;
mod owners;
mod rank_grid;
mod region;
mod tile;

pub(crate) use alike::Alike;
pub use cut::Cut;
pub use intervals::Intervals;
pub use owners::Owners;
pub use rank_grid::{Axis, Distribution, GridError, Role};
pub use region::{Bounds, Region, is_empty, volume, without};
pub use tile::tile_bounds;

#[cfg(test)]
mod tests;
