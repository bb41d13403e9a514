//! The distributed algorithms: functions that append to a schedule.
//!
//! | algorithm | left | right | out | moves |
//! |---|---|---|---|---|
//! | `local` | rank 0 | rank 0 | rank 0 | nothing |
//! | `c` | c/p | c/p | c/p | nothing |
//! | `ring-mn` | m/p | n/p | m/p (or mirrored: n/p) | the operand that is cut differently from out |
//! | `ring-k` | k/p | k/p | m/p (or n/p) | out, as partial sums |
//! | `slicing` | any | any | any | the pieces of two tensors that match the blocks of the third |
//! | `cannon` | m/s k/s | k/s n/s | m/s n/s | both operands, block by block |
//! | `master-worker` | rank 0 | rank 0 | rank 0 | the workers' parts of operands and of out |
//! | `grid` | tiles of a grid | tiles | tiles | parts of tiles that other ranks hold; summands of out if k is cut |
//!
//! Each generator gets the contraction as one rank sees it ([`Contraction`]: labels, shapes, distributions, this rank's
//! buffers) and appends that rank's tasks; it never calls a kernel or a transport. [`Algorithm::distributions`] returns
//! the distributions that an algorithm requires and produces, so the planner and the generator cannot disagree.
//!
//! "The thesis" in these files is J. Dressler, Scaling Out: Distributed Memory Parallelism for Einsum Trees, Jena 2025.
//!
//! Invariant: on all ranks the tasks of a node come in the same order of steps, and the transfers of a node in an order
//! that is a projection of one total order. Deliberately absent: choosing an algorithm ([`crate::plan`]).

mod cannon;
mod contraction;
mod grid;
mod local;
mod master_worker;
mod pieces;
mod redistribute;
mod replicas;
mod ring_k;
mod ring_mn;
mod slicing;
mod unary;

pub use contraction::{Contraction, MAX_PIECES, Tensor, most_pieces};
pub use grid::{Grid, Sharing};
pub use redistribute::redistribute;
pub use ring_mn::dim_and_pieces;
pub use slicing::{Chunks, Reorder, Stationary};
pub use unary::{carried, unary};

use serde::{Deserialize, Serialize};

use crate::dims::{Kind, Kinds, Label};
use crate::distribution::Distribution;
use crate::schedule::Builder;
use crate::schedule::verify::Summand;

/// A binary contraction's algorithm with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// All on rank 0.
    Local,
    /// All three tensors cut along the same c dimension.
    #[serde(rename = "c")]
    BatchParallel { cut: Label },
    /// `out` and one operand cut along `cut`, the other operand along `travel`; its blocks travel the ring. If `cut` is
    /// an m dimension, the right operand travels; mirrored, if it is an n dimension, the left. Blocks travel in at most
    /// `pieces` pieces, and the last block is contracted piece by piece.
    RingMn { cut: Label, travel: Label, pieces: usize },
    /// Both operands cut along `cut` (k), `out` along `out` (m or n). Blocks of out are cut into pieces along `split`,
    /// at most `pieces` and at least two, whose partial sums travel the ring.
    RingK { cut: Label, out: Label, split: Label, pieces: usize },
    /// Any distributions of all three tensors: pieces travel to the blocks of the stationary one.
    Slicing { stationary: Stationary, chunks: Chunks },
    /// A grid of ranks over any of the dimensions.
    Grid(Box<Grid>),
    /// On `side` x `side` ranks, the operands are cut along `k` and along `m` or `n`, and shifted past out.
    Cannon { m: Label, n: Label, k: Label, side: usize },
    /// Rank 0 holds everything and hands out parts of `cut`, one per rank, which end at `ends`.
    MasterWorker { cut: Label, ends: Vec<usize> },
}

/// The distributions of a contraction's tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distributions {
    pub left: Distribution,
    pub right: Distribution,
    pub out: Distribution,
}

impl Algorithm {
    /// The name on the command line and in plans.
    pub const fn name(&self) -> &'static str {
        match self {
            Algorithm::Local => "local",
            Algorithm::BatchParallel { .. } => "c",
            Algorithm::RingMn { .. } => "ring-mn",
            Algorithm::RingK { .. } => "ring-k",
            Algorithm::Slicing { .. } => "slicing",
            Algorithm::Grid(_) => "grid",
            Algorithm::Cannon { .. } => "cannon",
            Algorithm::MasterWorker { .. } => "master-worker",
        }
    }

    /// The name with its parameters: `ring-mn(m, n)`, `grid(m/2, k/3)`, `slicing(out stays)`.
    pub fn describe(&self, name: impl Fn(Label) -> String) -> String {
        let inside = match self {
            Algorithm::Grid(grid) => {
                let cuts = grid.cuts.iter().filter(|(_, parts)| *parts > 1);
                cuts.map(|&(label, parts)| format!("{}/{parts}", name(label))).collect()
            }
            Algorithm::Slicing { stationary, chunks } => {
                let order = Some(chunks.order.name()).filter(|_| chunks.order != Reorder::Direct);
                [format!("{} stays", stationary.name())].into_iter().chain(order.map(str::to_owned)).collect()
            }
            _ => self.cuts().into_iter().map(name).collect::<Vec<_>>(),
        };
        if inside.is_empty() { self.name().to_owned() } else { format!("{}({})", self.name(), inside.join(", ")) }
    }

    /// The dimensions that the algorithm cuts among ranks, in the order of its fields.
    pub fn cuts(&self) -> Vec<Label> {
        match self {
            Algorithm::Local | Algorithm::Slicing { .. } => vec![],
            &Algorithm::BatchParallel { cut } | &Algorithm::MasterWorker { cut, .. } => vec![cut],
            &Algorithm::Cannon { m, n, k, .. } => vec![m, n, k],
            &Algorithm::RingMn { cut, travel, .. } => vec![cut, travel],
            &Algorithm::RingK { cut, out, .. } => vec![cut, out],
            Algorithm::Grid(grid) => {
                grid.cuts.iter().filter(|(_, parts)| *parts > 1).map(|&(label, _)| label).collect()
            }
        }
    }

    /// The distributions that it requires and produces on `ranks` ranks, for tensors with these labels; `None` if any
    /// will do.
    ///
    /// # Panics
    /// When its parameters are not dimensions of the right kinds: the planner makes algorithms from the kinds.
    pub fn distributions(&self, left: &[Label], right: &[Label], out: &[Label], ranks: usize) -> Option<Distributions> {
        let cut = |labels: &[Label], label: Label| {
            let dim = labels.iter().position(|&l| l == label);
            Distribution::cut(dim.unwrap_or_else(|| panic!("the tensor has the dimension that it is cut along")), ranks)
        };
        Some(match self {
            Algorithm::Slicing { .. } => return None,
            Algorithm::Grid(grid) => Distributions {
                left: grid.distribution(left, 0),
                right: grid.distribution(right, 1),
                out: grid.distribution(out, 2),
            },
            &Algorithm::Cannon { m, n, k, side } => Distributions {
                left: cannon::squares(left, [m, k], side),
                right: cannon::squares(right, [k, n], side),
                out: cannon::squares(out, [m, n], side),
            },
            Algorithm::Local | Algorithm::MasterWorker { .. } => Distributions {
                left: Distribution::single(),
                right: Distribution::single(),
                out: Distribution::single(),
            },
            &Algorithm::BatchParallel { cut: c } => {
                Distributions { left: cut(left, c), right: cut(right, c), out: cut(out, c) }
            }
            &Algorithm::RingMn { cut: o, travel, .. } if left.contains(&o) => {
                Distributions { left: cut(left, o), right: cut(right, travel), out: cut(out, o) }
            }
            &Algorithm::RingMn { cut: o, travel, .. } => {
                Distributions { left: cut(left, travel), right: cut(right, o), out: cut(out, o) }
            }
            &Algorithm::RingK { cut: k, out: o, .. } => {
                Distributions { left: cut(left, k), right: cut(right, k), out: cut(out, o) }
            }
        })
    }

    /// Whether the parameters are dimensions of the kinds that the algorithm cuts.
    pub fn applies(&self, kinds: &Kinds) -> bool {
        let is = |label: Label, allowed: &[Kind]| kinds.of(label).is_some_and(|kind| allowed.contains(&kind));
        match *self {
            Algorithm::Local | Algorithm::Slicing { .. } => true,
            Algorithm::Grid(ref grid) => grid.cuts.iter().all(|&(label, _)| kinds.of(label).is_some()),
            Algorithm::Cannon { m, n, k, .. } => is(m, &[Kind::M]) && is(n, &[Kind::N]) && is(k, &[Kind::K]),
            Algorithm::MasterWorker { cut, .. } => is(cut, &[Kind::C, Kind::M, Kind::N]),
            Algorithm::BatchParallel { cut } => is(cut, &[Kind::C]),
            Algorithm::RingMn { cut, travel, .. } => {
                (is(cut, &[Kind::M]) && is(travel, &[Kind::N])) || (is(cut, &[Kind::N]) && is(travel, &[Kind::M]))
            }
            Algorithm::RingK { cut, out, split, .. } => {
                is(cut, &[Kind::K]) && is(out, &[Kind::M, Kind::N]) && is(split, &[Kind::C, Kind::M, Kind::N])
            }
        }
    }

    /// By rank, the order in which summands of out are added, for algorithms with an order of their own.
    pub fn order(&self, contraction: &Contraction, ranks: usize) -> Option<Vec<Vec<Summand>>> {
        match self {
            &Algorithm::Slicing { stationary, chunks } => Some(slicing::order(contraction, stationary, chunks, ranks)),
            Algorithm::Grid(grid) => Some(grid::order(contraction, grid, ranks)),
            &Algorithm::Cannon { k, side, .. } => Some(cannon::order(contraction, k, side, ranks)),
            _ => None,
        }
    }

    /// Appends the tasks of the builder's rank.
    pub fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        match *self {
            Algorithm::Local | Algorithm::BatchParallel { .. } => local::local(builder, contraction),
            Algorithm::RingMn { cut, travel, pieces } => ring_mn::ring_mn(builder, contraction, [cut, travel], pieces),
            Algorithm::RingK { out, split, pieces, .. } => ring_k::ring_k(builder, contraction, [out, split], pieces),
            Algorithm::Slicing { stationary, chunks } => slicing::slicing(builder, contraction, stationary, chunks),
            Algorithm::Grid(ref grid) => grid::grid(builder, contraction, grid),
            Algorithm::Cannon { side, .. } => cannon::cannon(builder, contraction, side),
            Algorithm::MasterWorker { cut, ref ends } => {
                master_worker::master_worker(builder, contraction, cut, ends);
            }
        }
    }
}
