//! NumPy's `.npy` files, a block at a time.
//!
//! A file is read with [`read_header`] and [`read_block`], and written as a [`PendingFile`] that gets its final name
//! only when it is complete. Invariant: the length of a file whose header was accepted covers its shape, and every
//! offset is computed in 64 bits. Deliberately absent: conversion between element types (a message says how NumPy does
//! it), `.npz` archives, memory mapping (a truncated file would end the process by a signal).

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
