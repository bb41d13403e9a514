//! Reads and writes NumPy's `.npy` files block by block.
//!
//! A file is written as a [`PendingFile`], which is renamed when complete. A file with an accepted header is long
//! enough for its shape, and offsets have 64 bits. Element types are not converted, but the error has the NumPy command
//! for it. Files are not memory-mapped, because SIGBUS would kill the process if another one truncated a file.

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
pub use pending::PendingFile;
