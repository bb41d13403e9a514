//! The C interface, `einsum_dist.h`.
//!
//! This crate only converts: pointers to views, text to options, errors to codes and messages. It uses the public
//! interface of the library.
//!
//! | file | contents |
//! |---|---|
//! | `status` | codes, messages, and the border that no panic crosses |
//! | `argument` | strings, lists and results behind pointers |
//! | `element` | programs and tensors of any element type |
//! | `view` | strided arrays as views |
//! | `world`, `communicator` | ranks, and communicators of C and Fortran |
//! | `options`, `plan` | what is planned, and plans |
//! | `program`, `tensor` | compiled plans, and tensors that are distributed over ranks |
//!
//! Invariants: a function that can fail returns a `Status` and writes its result to its last
//! argument, only if it succeeds. A handle belongs to the thread that created it. `unsafe` reads what callers pass.

#![allow(non_camel_case_types, reason = "names of C types")]

mod argument;
#[cfg(feature = "mpi")]
mod communicator;
mod element;
mod options;
mod plan;
mod program;
mod status;
mod tensor;
mod view;
mod world;
