//! The distributed algorithms: generators, which append a contraction's tasks to one rank's schedule.
//! `docs/algorithms.md` explains them with examples.
//!
//! A generator never calls a kernel or a transport. It shares [`Algorithm::distributions`] with the planner, so they
//! cannot disagree.
//!
//! Several files cite J. Dressler, Scaling Out: Distributed Memory Parallelism for Einsum Trees (2025).
//!
//! Invariant: all ranks run the steps of a plan in the same order, and start their transfers of a contraction in one
//! total order.

mod cannon;
mod contraction;
mod cost;
mod generator;
mod grid;
mod local;
mod master_worker;
mod objective;
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
pub use grid::{Grid, GridFit, Sharing, most_idle};
pub use local::{BatchParallel, carried, unary};
pub use master_worker::MasterWorker;
pub use objective::{Objective, Price};
pub use rank_count::RankCount;
pub use redistribute::{MAX_DIRECT_SUMMANDS, Movement, broadcast_rounds, redistribute};
pub use registry::{Algorithm, AlgorithmName, Residency};
pub use reorder::Reorder;
pub use ring_k::RingK;
pub use ring_mn::RingMn;
pub use slicing::{Chunks, Slicing, Stationary};
pub use summa::Summa;
