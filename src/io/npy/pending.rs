//! An array that appears whole or not at all: a [`Temporary`] with the layout of an `.npy` file.
//!
//! One process creates the [`PendingFile`], the others open it, and each writes its blocks; when all have flushed and
//! agreed, the creator commits. Invariant: a creator that fails or unwinds leaves nothing behind. Deliberately absent:
//! that agreement.

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
    /// Creates the temporary file at its final length. The tag distinguishes this run from every other.
    pub fn create(target: &Path, tag: &str, dtype: Dtype, shape: &[usize]) -> Result<PendingFile, NpyError> {
        let (text, header) = header::compose(target, dtype, shape)?;
        let temporary = Temporary::create(target, tag)?;
        header::lay_out(temporary.path(), temporary.file(), &text, &header)?;
        Ok(PendingFile { temporary, header })
    }

    /// Opens the file that another process created with the same target and tag.
    pub fn open(target: &Path, tag: &str) -> Result<PendingFile, NpyError> {
        let temporary = Temporary::open(target, tag)?;
        let header = read_header(temporary.path())?;
        Ok(PendingFile { temporary, header })
    }

    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// The path of the file until it is committed.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes a block of dense C-order memory. Blocks of different callers must not overlap.
    pub fn write_block(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, Writers::Several)
    }

    /// As [`PendingFile::write_block`], faster where the block consists of many small pieces: for the creator, while no
    /// other process writes.
    pub fn write_block_alone(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, if self.temporary.is_creator() { Writers::One } else { Writers::Several })
    }

    fn write(&self, ranges: &[Range<usize>], from: &[u8], writers: Writers) -> Result<(), NpyError> {
        block::write_to(self.temporary.path(), self.temporary.file(), &self.header, ranges, from, writers)
    }

    /// Waits until the system has stored what was written: a full disk or quota may show only now. Every process calls
    /// this before it reports to the others that it is done.
    pub fn flush(&self) -> Result<(), NpyError> {
        Ok(self.temporary.flush()?)
    }

    /// Renames the file to its target, replacing any file there. One process calls this, after all have flushed.
    pub fn commit(self) -> Result<(), NpyError> {
        Ok(self.temporary.commit()?)
    }
}

/// Checks, before any work is done, whether an output of this name can be created. Leaves nothing behind.
pub fn check_writable(path: &Path) -> Result<(), NpyError> {
    output::examine(path)?;
    Ok(())
}
