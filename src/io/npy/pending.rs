//! Writes an `.npy` file that appears either complete or not at all; before, it is a [`Temporary`].
//!
//! One process creates the [`PendingFile`], others open it, each writes its blocks and flushes, and after all have
//! agreed on their success, which is up to the callers, the creator commits. If the creator fails or unwinds, the file
//! is removed.

use super::block::{self, Writers};
use super::{NpyError, NpyHeader, header, read_header};
use crate::dtype::Dtype;
use crate::io::output::Temporary;
use std::ops::Range;
use std::path::Path;

/// An `.npy` file without its final name.
#[derive(Debug)]
pub struct PendingFile {
    temporary: Temporary,
    header: NpyHeader,
}

impl PendingFile {
    /// Creates the temporary file with its final length and a tag for this run.
    pub fn create(target: &Path, tag: &str, dtype: Dtype, shape: &[usize]) -> Result<PendingFile, NpyError> {
        let (text, header) = header::compose(target, dtype, shape)?;
        let temporary = Temporary::create(target, tag)?;
        header::lay_out(temporary.path(), temporary.file(), &text, &header)?;
        Ok(PendingFile { temporary, header })
    }

    /// Opens the file of another process with the same target and tag.
    pub fn open(target: &Path, tag: &str) -> Result<PendingFile, NpyError> {
        let temporary = Temporary::open(target, tag)?;
        let header = read_header(temporary.path())?;
        Ok(PendingFile { temporary, header })
    }

    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes a block from dense C-order memory. Blocks from different callers must not overlap.
    pub fn write_block(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, Writers::Several)
    }

    /// Like [`PendingFile::write_block`], but faster for many short runs, if no other process writes at the same time.
    pub fn write_block_alone(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, if self.temporary.is_creator() { Writers::One } else { Writers::Several })
    }

    fn write(&self, ranges: &[Range<usize>], from: &[u8], writers: Writers) -> Result<(), NpyError> {
        block::write_to(self.temporary.path(), self.temporary.file(), &self.header, ranges, from, writers)
    }

    /// Like [`Temporary::flush`]; every process must call this before it reports success.
    pub fn flush(&self) -> Result<(), NpyError> {
        Ok(self.temporary.flush()?)
    }

    /// Renames the file over its target; for one process, after all have flushed.
    pub fn commit(self) -> Result<(), NpyError> {
        Ok(self.temporary.commit()?)
    }
}
