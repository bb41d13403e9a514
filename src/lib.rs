//! Contracts einsum expressions and trees on one core, on all sockets of a machine, or on many machines over MPI.
//!
//! ```text
//! text --parse--> Expression --shapes--> Tree of unary steps and contractions, every dimension c, m, n or k
//!      --plan--> Plan: distribution of every tensor, algorithm of each contraction     (a value: print it, compare it)
//!      --schedule(rank)--> Schedule: buffers, tasks and edges of one rank               (a value; no data, no MPI)
//!      --verify--> Verified --compile--> Program --run--> tensors, metrics
//! ```
//!
//! Data flows one way and every stage is a value. An algorithm is a function that returns a schedule; one executor runs
//! schedules and one verifier proves them.
//!
//! | to | start at |
//! |---|---|
//! | contract arrays in this process | [`einsum()`] |
//! | choose expression, machine and contraction order | [`Problem`], [`Machine`], [`Options`], [`plan::PathChoice`] |
//! | inspect a plan: its communication, memory and cost | [`Plan`] |
//! | see when each rank ran which task, as a picture or a trace | [`Program::timeline`], [`timeline::Timeline`] |
//! | run a plan many times, on views, with alpha and beta | [`World`], [`Program`], [`Operand`], [`Output`] |
//! | keep tensors distributed | [`DistTensor`] |
//! | compute a result that does not fit into memory | [`Program::run_part`], [`NpyOutput`] |
//! | bound the rounding error of a result | [`Plan::roundings`], [`kernel::error_bound`] |
//! | learn how a distributed algorithm works | [`algorithm`], [`schedule`] |
//!
//! Build, inspect and run a plan:
//!
//! ```
//! use einsum_dist::{Machine, Options, Problem, World};
//! use ndarray::Array2;
//!
//! let (a, b) = (Array2::<f32>::ones((6, 4)), Array2::<f32>::ones((5, 4)));
//! let plan = Problem::parse("mk,kn->mn")?
//!     .shapes(&[vec![6, 4], vec![4, 5]])?
//!     .plan(&Machine::new(3, 1), &Options::default())?;
//! println!("{}", plan.explain());
//! let received: u64 = (0..3).map(|rank| plan.schedule(rank).bytes_received()).sum();
//!
//! let world = World::in_process(3);
//! let mut program = world.compile::<f32>(&plan)?;
//! // A transposed view, which nobody copies.
//! let mut c = program.run(&[&a, &b.t()])?;
//! assert_eq!(world.moved().received, received);
//! // c = 10 a b^T - c, in place.
//! program.run_into(10.0, &[&a, &b.t()], -1.0, &mut c)?;
//! assert!(c.iter().all(|&x| x == 36.0));
//! # Ok::<(), einsum_dist::Error>(())
//! ```
//!
//! A shape lists the extents in the order of a term's labels. Sizes are in bytes and times in seconds, unless a name
//! says otherwise. A multiply-add counts as 2 operations, or 8 for complex numbers. A call that fails returns an
//! [`Error`].
//!
//! Features: `cli` (default) builds the command line, `mpi` runs on MPI ranks, `libxsmm` uses LIBXSMM for small
//! products, `hwloc` reads the machine's topology from hwloc, `full` enables all of them.

pub mod algorithm;
pub mod api;
pub mod comm;
pub mod dims;
pub mod distribution;
pub mod dtype;
pub mod exec;
pub mod io;
pub mod kernel;
pub mod local_plan;
pub mod machine;
pub mod memory;
pub mod plan;
pub mod report;
pub mod schedule;
mod sync;
pub mod timeline;
pub mod tree;

pub use api::{DistTensor, Error, NpyOutput, Operand, Output, Problem, Program, Result, Shaped, World, einsum};
pub use dtype::Dtype;
pub use kernel::Element;
pub use machine::Machine;
#[cfg(feature = "mpi")]
pub use mpi;
pub use ndarray;
pub use plan::{Options, Plan};
