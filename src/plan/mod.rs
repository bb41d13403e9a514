//! Turns a contraction tree into a plan: a distribution for every tensor and an algorithm for every contraction.
//!
//! A [`Plan`] is a plain value without data: print it ([`Plan::explain`]), compare it ([`Plan::fingerprint`]), turn it
//! into the schedule of any rank ([`Plan::schedule`]), prove it ([`Plan::verify`]), run it ([`crate::api::World`]).
//!
//! | pass | file |
//! |---|---|
//! | a plan as a value, and what it can be asked | `structure`, `queries` |
//! | contraction order | `path` |
//! | memory layout of intermediates | `layout` |
//! | subtrees that run concurrently on one rank | `branches` |
//! | candidate algorithms of a node | `candidates` |
//! | choice of the algorithms of all nodes together | `context`, `algorithm_selection` |
//! | predicted time, communication lower bound | `cost`, `bound` |
//! | distributions, redistributions between nodes | `distribute`, `fixed` |
//! | tasks of one rank | `lower` |
//! | batches that flow through groups of ranks | `pipeline` |
//! | subtrees on disjoint groups of ranks | `groups` |
//! | idle ranks | `idle` |
//! | workspace for packing | `packing` |
//! | slicing under a memory limit | `slice`, `slice_model`, `slice_search`, `memory_fit` |
//! | results that later slices and runs reuse | `reuse` |
//! | simulated run time, without data | `simulate` |
//! | what schedules are held to, error growth | `spec`, `rounding` |
//! | proofs for thousands of ranks | `proof` |
//! | text | `explain`, `path_report` |
//!
//! Invariants: values come after their inputs; every input of a contraction has the distribution that its algorithm
//! requires. Deliberately absent: more replicas of a tensor than the user requests or a diagonal needs; grids gather
//! shared tiles instead.

#![warn(missing_docs)]

mod algorithm_selection;
mod bound;
mod branches;
mod candidates;
mod context;
mod cost;
mod distribute;
mod error;
mod explain;
mod fixed;
mod groups;
mod idle;
mod layout;
mod lower;
mod memory_fit;
mod options;
mod packing;
mod path;
mod path_report;
mod pipeline;
mod proof;
mod queries;
mod reuse;
mod rounding;
mod simulate;
mod slice;
mod slice_model;
mod slice_search;
mod spec;
mod structure;

pub use crate::algorithm::AlgorithmName;
pub use bound::words as lower_bound_words;
pub use error::PlanError;
pub use explain::Explain;
pub use fixed::FixedDistributions;
pub use options::{KernelChoice, Options, PipelineChoice};
pub use path::{PathChoice, SearchLimit};
pub use path_report::PathReport;
pub use proof::{Classes, MAX_FULL_PROOF_RANKS, Step};
pub use simulate::MAX_SIMULATED_RANKS;
pub use structure::{Candidate, Pipeline, Plan, ResultResidency, Slice, Source, Value};
