//! Implements the distributed algorithms. Each is a generator, which appends the tasks for a contraction to one rank's
//! schedule.
//!
//! | algorithm | `left` | `right` | `out` | moves |
//! |---|---|---|---|---|
//! | `local` | rank 0 | rank 0 | rank 0 | nothing |
//! | `c` | c/p | c/p | c/p | nothing |
//! | `ring-mn` | m/p | n/p | m/p (mirrored: n/p) | the operand that is not cut like `out` |
//! | `ring-k` | k/p | k/p | m/p (or n/p) | partial sums of `out` |
//! | `slicing` | any | any | any | the pieces of two tensors that match the blocks of the third |
//! | `summa` | m/r k/c | k/r n/c | m/r n/c | panels of both operands, broadcast |
//! | `cannon` | m/s k/s | k/s n/s | m/s n/s | both operands, block by block |
//! | `master-worker` | rank 0 | rank 0 | rank 0 | parts of the operands and of `out`, from and to rank 0 |
//! | `grid` | tiles of a grid | tiles | tiles | parts of tiles; partial sums of `out` if k is cut |
//!
//! In the table, m/p is dimension m cut among p ranks; a grid has r rows and c columns, or s of each.
//!
//! A generator receives a [`Contraction`] with one rank's buffers, and never calls a kernel or a transport. The planner
//! and the generators share [`Algorithm::distributions`], so they cannot disagree.
//!
//! Several files cite J. Dressler, Scaling Out: Distributed Memory Parallelism for Einsum Trees, Jena 2025.
//!
//! Invariant: all ranks run the steps of a plan in the same order. All transfers of a contraction have one total order,
//! in which every rank starts its own.

mod cannon;
mod contraction;
mod cost;
mod generator;
mod grid;
mod local;
mod master_worker;
mod pieces;
mod rank_count;
mod redistribute;
mod registry;
mod reorder;
mod replicas;
mod ring_k;
mod ring_mn;
mod slicing;
mod summa;

pub use cannon::Cannon;
pub use contraction::{Contraction, MAX_PIECES, Tensor, most_pieces};
pub(crate) use cost::Cost;
pub use generator::Distributions;
pub(crate) use generator::Setting;
pub use grid::{Grid, GridFit, Sharing};
pub use local::{BatchParallel, carried, unary};
pub use master_worker::MasterWorker;
pub use rank_count::RankCount;
pub use redistribute::{broadcast_rounds, redistribute};
pub use registry::{Algorithm, AlgorithmName, Residency};
pub use reorder::Reorder;
pub use ring_k::RingK;
pub use ring_mn::RingMn;
pub use slicing::{Chunks, Slicing, Stationary};
pub use summa::Summa;
