//! Reads and writes NumPy's `.npy` files block by block.
//!
//! A file is read with [`read_header`] and [`read_block`], and written as a [`PendingFile`] that is renamed to its
//! final name only when it is complete. A file whose header is accepted is long enough for its shape, and every offset
//! is computed with 64 bits. Element types are not converted, but the error message gives the NumPy command for the
//! conversion. `.npz` archives are not supported. Files are not memory-mapped, because SIGBUS would kill the process if
//! another process truncated a mapped file.

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
