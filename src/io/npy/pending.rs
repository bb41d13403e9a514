//! Writes an `.npy` file that appears either complete or not at all. Until the file is complete, it is a [`Temporary`].
//!
//! One process creates the [`PendingFile`], and the other processes open it. Each process writes its blocks and
//! flushes. After all processes have agreed that they succeeded, the creator commits. The callers are responsible for
//! this agreement. If the creator fails or unwinds, the file is removed.

use super::block::{self, Writers};
use super::{NpyError, NpyHeader, header, read_header};
use crate::dtype::Dtype;
use crate::io::output::{self, Temporary};
use std::ops::Range;
use std::path::Path;

/// An `.npy` file that does not have its final name yet.
#[derive(Debug)]
pub struct PendingFile {
    temporary: Temporary,
    header: NpyHeader,
}

impl PendingFile {
    /// Creates the temporary file with its final length. The tag distinguishes this run from all other runs.
    pub fn create(target: &Path, tag: &str, dtype: Dtype, shape: &[usize]) -> Result<PendingFile, NpyError> {
        let (text, header) = header::compose(target, dtype, shape)?;
        let temporary = Temporary::create(target, tag)?;
        header::lay_out(temporary.path(), temporary.file(), &text, &header)?;
        Ok(PendingFile { temporary, header })
    }

    /// Opens the file that another process has created with the same target and tag.
    pub fn open(target: &Path, tag: &str) -> Result<PendingFile, NpyError> {
        let temporary = Temporary::open(target, tag)?;
        let header = read_header(temporary.path())?;
        Ok(PendingFile { temporary, header })
    }

    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// The path of the file before it is committed.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes a block from dense C-order memory. Blocks from different callers must not overlap.
    pub fn write_block(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, Writers::Several)
    }

    /// Like [`PendingFile::write_block`], but faster for the creator if the block consists of many short runs. No other
    /// process may write at the same time.
    pub fn write_block_alone(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, if self.temporary.is_creator() { Writers::One } else { Writers::Several })
    }

    fn write(&self, ranges: &[Range<usize>], from: &[u8], writers: Writers) -> Result<(), NpyError> {
        block::write_to(self.temporary.path(), self.temporary.file(), &self.header, ranges, from, writers)
    }

    /// Waits until the system has stored all written data. A full disk or an exceeded quota may be reported only here.
    /// Every process must call this before it reports success to the other processes.
    pub fn flush(&self) -> Result<(), NpyError> {
        Ok(self.temporary.flush()?)
    }

    /// Renames the file to its target and replaces any existing file. Must be called by only one process, after all
    /// processes have flushed.
    pub fn commit(self) -> Result<(), NpyError> {
        Ok(self.temporary.commit()?)
    }
}

/// Checks, before any work is done, whether an output of this name can be created. No file is left behind.
pub fn check_writable(path: &Path) -> Result<(), NpyError> {
    output::examine(path)?;
    Ok(())
}
