//! Reads and writes NumPy's `.npy` files block by block.
//!
//! A file is read with [`read_header`] and [`read_block`], and written as a [`PendingFile`] that gets its final name
//! only when it is complete. Invariant: a file whose header is accepted is long enough for its shape, and every offset
//! is computed in 64 bits. Deliberately absent: conversion between element types (a message gives the NumPy command),
//! `.npz` archives, and memory mapping (with a truncated file, a signal would end the process).

mod block;
mod descr;
mod error;
mod header;
mod literal;
mod pending;
mod walk;

pub use block::{read_block, write_block};
pub use error::NpyError;
pub use header::{NpyHeader, create, read_header, read_header_from};
pub use pending::{PendingFile, check_writable};
