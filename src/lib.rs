//! Contracts einsum expressions and trees on one core, on all sockets of a machine, or on many machines over MPI.
//!
//! ```text
//! text --parse--> Expression --shapes--> Tree of unary steps and contractions, every dimension c, m, n or k
//!      --plan--> Plan: distribution of every tensor, algorithm of each contraction     (a value: print it, compare it)
//!      --schedule(rank)--> Schedule: buffers, tasks and edges of one rank               (a value; no data, no MPI)
//!      --verify--> Verified --compile--> Program --run--> tensors, metrics
//! ```
//!
//! Every stage returns a value. An algorithm is a function that returns a schedule. One executor runs all schedules,
//! and one verifier proves them correct.
//!
//! | to | start at |
//! |---|---|
//! | contract arrays in this process | [`einsum()`] |
//! | choose expression, machine and contraction order | [`Problem`], [`Machine`], [`PlanOptions`], [`PathChoice`] |
//! | inspect a plan: its communication, memory and cost | [`Plan`] |
//! | see when each rank ran which task, as a picture or a trace | [`Program::timeline`], [`Timeline`] |
//! | run a plan many times, on views, with alpha and beta | [`World`], [`Program`], [`Operand`], [`Output`] |
//! | keep tensors distributed | [`DistTensor`] |
//! | compute a result that does not fit into memory | [`Program::run_part`], [`NpyOutput`] |
//! | continue a run that was killed | [`Checkpoint`], [`Program::run_dist_with_checkpoint`] |
//! | bound the rounding error of a result | [`Plan::roundings`], [`error_bound`] |
//!
//! Build, inspect and run a plan:
//!
//! ```
//! use einsum_dist::{Machine, PlanOptions, Problem, World};
//! use ndarray::Array2;
//!
//! let (a, b) = (Array2::<f32>::ones((6, 4)), Array2::<f32>::ones((5, 4)));
//! let plan = Problem::parse("mk,kn->mn")?
//!     .shapes(&[vec![6, 4], vec![4, 5]])?
//!     .plan(&Machine::new(3, 1), &PlanOptions::default())?;
//! println!("{}", plan.explain());
//! let received: u64 = (0..3).map(|rank| plan.schedule(rank).bytes_received()).sum();
//!
//! let world = World::in_process(3);
//! let mut program = world.compile::<f32>(&plan)?;
//! // A transposed view, which is not copied.
//! let mut c = program.run(&[&a, &b.t()])?;
//! assert_eq!(world.moved().received, received);
//! // c = 10 a b^T - c, in place.
//! program.run_into(10.0, &[&a, &b.t()], -1.0, &mut c)?;
//! assert!(c.iter().all(|&x| x == 36.0));
//! # Ok::<(), einsum_dist::Error>(())
//! ```
//!
//! A shape lists extents in the order of a term's labels. Sizes are in bytes and times in seconds unless a name states
//! another unit. A multiply-add is 2 operations for real numbers and 8 for complex ones. Failed calls return an
//! [`Error`].
//!
//! No feature is enabled by default. `mpi` runs programs on MPI ranks, `libxsmm` uses LIBXSMM for small products,
//! `hwloc` reads the machine's topology, and `full` enables all three. The command-line program is the package
//! `einsum-dist-cli`. For it, tests and benchmarks, the hidden feature `internals` makes more modules public, which may
//! change in any version.

#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without `internals`, items for tests and the command line are dead code.
#![cfg_attr(not(feature = "internals"), allow(dead_code, unused_imports, unused_macros))]

#[cfg(not(feature = "internals"))]
mod algorithm;
#[cfg(not(feature = "internals"))]
mod api;
#[cfg(not(feature = "internals"))]
mod comm;
#[cfg(not(feature = "internals"))]
mod distribution;
#[cfg(not(feature = "internals"))]
mod exec;
#[cfg(not(feature = "internals"))]
mod io;
#[cfg(not(feature = "internals"))]
mod machine;
#[cfg(not(feature = "internals"))]
mod memory;
#[cfg(not(feature = "internals"))]
mod plan;
#[cfg(not(feature = "internals"))]
mod report;
#[cfg(not(feature = "internals"))]
mod schedule;
mod sync;
#[cfg(not(feature = "internals"))]
mod timeline;
#[cfg(not(feature = "internals"))]
mod tree;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod algorithm;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod api;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod comm;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod distribution;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod exec;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod io;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod machine;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod memory;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod plan;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod report;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod schedule;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod timeline;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod tree;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub use einsum_local::{dims, dtype, kernel, local_plan};
#[cfg(not(feature = "internals"))]
use einsum_local::{dims, dtype, kernel, local_plan};

pub use algorithm::{AlgorithmName, Objective, Reorder};
pub use api::{
    Checkpoint, DistTensor, Error, NpyOutput, Operand, OperandParts, Output, Problem, Program, ProgramCache, Rank,
    Result, Shaped, Workers, World, einsum,
};
pub use comm::{CommError, Transport};
#[doc(inline)]
pub use dims::{Kind, Kinds, Label};
pub use distribution::{Axis, Cut, Distribution, GridError, Owners, Region, Role};
#[doc(inline)]
pub use dtype::Dtype;
pub use einsum_parser::{Expression, ParseError};
pub use exec::{KernelError, Metrics, Moved, Only, RunOptions, TaskMetric};
pub use io::checkpoint::CheckpointError;
pub use io::npy::NpyError;
pub use io::output::FileError;
#[doc(inline)]
pub use kernel::{Element, error_bound};
#[doc(inline)]
pub use local_plan::{Caches, Isa, KernelFamily, Target};
pub use machine::{Link, Machine, Synthetic};
pub use memory::{Lent, OutOfMemory};
#[cfg(feature = "mpi")]
pub use mpi;
pub use ndarray;
pub use plan::{
    Explain, FixedDistributions, GivenPath, KernelChoice, Noise, PathChoice, PathMethod, PathReport, Pipeline,
    PipelineChoice, Plan, PlanError, PlanOptions, ResultResidency, SearchLimit, SearchProgress, SearchRecord,
    SearchedTree, Slice,
};
pub use rayon;
pub use report::{
    ByLink, Bytes, CheckReport, FewestBytes, MaxMean, Measured, NodeReport, OutputReport, PathSearchReport, Peak,
    RankReport, Report, Seconds,
};
pub use schedule::Schedule;
pub use schedule::verify::VerifyError;
pub use timeline::{Activity, Busy, Span, Timeline};
pub use tree::{Node, ShapeError, Step, Tree, UnaryOp};
