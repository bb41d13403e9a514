//! Tests the public interface and the program. Modules are named after subjects; `cargo test --test integration NAME`
//! runs the tests whose path contains NAME.

#[path = "../common/mod.rs"]
mod common;

mod algorithm;
mod cases;
mod cli;
#[cfg(feature = "mpi")]
mod cli_mpi;
mod command;
mod examples;
mod expressions;
mod io;
mod kernel;
mod killed;
mod large;
mod networks;
mod plan;
mod tidy;
mod timeline;
