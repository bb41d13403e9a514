//! Tests of the public interface and of the program, by subject. `cargo test --test integration NAME` runs the tests
//! whose path contains NAME.

#[path = "../common/mod.rs"]
mod common;

mod algorithm;
mod expressions;
mod io;
mod kernel;
mod large;
mod plan;
mod tidy;
mod timeline;

// Tests that start the program.
#[cfg(feature = "cli")]
mod cases;
#[cfg(feature = "cli")]
mod cli;
#[cfg(all(feature = "cli", feature = "mpi"))]
mod cli_mpi;
#[cfg(feature = "cli")]
mod command;
#[cfg(feature = "cli")]
mod networks;
