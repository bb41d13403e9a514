//! Contracts einsum expressions and trees on one core, on every socket of a machine, or on many machines over MPI.
//!
//! ```text
//! text --parse--> Expression --shapes--> Tree of unary steps and contractions, every dimension c, m, n or k
//!      --plan--> Plan: where every tensor lies, which algorithm contracts each node     (a value: print it, compare it)
//!      --schedule(rank)--> Schedule: buffers, tasks and edges of one rank               (a value; no data, no MPI)
//!      --verify--> Verified --compile--> Program --run--> tensors, metrics
//! ```
//!
//! Data flows one way and every stage is a value. An algorithm is a function that returns a schedule; one executor runs
//! schedules and one verifier proves them.
//!
//! | to do | start at |
//! |---|---|
//! | contract arrays in this process | [`einsum()`] |
//! | say what to contract, for which machine, in which order | [`Problem`], [`Machine`], [`Options`], [`plan::PathChoice`] |
//! | look at a plan: what it moves, takes and costs | [`Plan`] |
//! | see which rank did what when, as a picture or a trace | [`Program::timeline`], [`timeline::Timeline`] |
//! | run it often, on views, into an output, with alpha and beta | [`World`], [`Program`], [`Operand`], [`Output`] |
//! | keep tensors distributed | [`DistTensor`] |
//! | have a result that does not fit into memory | [`Program::run_part`], [`NpyOutput`] |
//! | know how far a result may be off | [`Plan::roundings`], [`kernel::error_bound`] |
//! | see how a distributed algorithm works | [`algorithm`], [`schedule`] |
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
//! Shapes are lists of extents, in the order of a term's labels. Sizes are in bytes and times in seconds, unless a name
//! says otherwise; operations count 2 per multiply-add, 8 of complex numbers. Calls fail with an [`Error`].
//!
//! Features: `cli` (default) builds the command line, `mpi` runs on MPI ranks, `libxsmm` lets LIBXSMM multiply small
//! products, `hwloc` asks hwloc what the machine is made of, `full` is everything.

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
