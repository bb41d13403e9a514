//! Output that appears whole or not at all: written beside its target, then renamed.
//!
//! One process creates the [`PendingFile`], the others open it, each writes its blocks; when all have flushed and agreed,
//! the creator commits. Invariant: the target is the old file or the complete new one, never a part, and a creator that
//! fails or unwinds leaves nothing behind. Deliberately absent: that agreement, and removal after the process was killed,
//! which leaves the hidden file [`PendingFile::temporary`] behind.

use super::block::{self, Writers};
use super::{NpyError, NpyHeader, header, read_header};
use crate::dtype::Dtype;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An `.npy` file that does not have its name yet.
#[derive(Debug)]
pub struct PendingFile {
    target: PathBuf,
    temporary: PathBuf,
    file: File,
    header: NpyHeader,
    /// Whoever created it removes it.
    owner: bool,
}

impl PendingFile {
    /// Creates the temporary file at its final length. The tag distinguishes this run from every other.
    pub fn create(target: &Path, tag: &str, dtype: Dtype, shape: &[usize]) -> Result<PendingFile, NpyError> {
        let target = replaceable(target)?;
        let temporary = beside(&target, tag)?;
        let (text, header) = header::compose(&target, dtype, shape)?;
        // Left by a run that was killed, or a link that someone put there: never followed.
        match fs::remove_file(&temporary) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => {
                return Err(NpyError::io(&temporary, "remove")(cause));
            }
            _ => {}
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary);
        let file = file.map_err(NpyError::io(&temporary, "create"))?;
        let pending = PendingFile { target, temporary, file, header, owner: true };
        header::lay_out(&pending.temporary, &pending.file, &text, &pending.header)?;
        Ok(pending)
    }

    /// Opens what another process created with the same target and tag.
    pub fn open(target: &Path, tag: &str) -> Result<PendingFile, NpyError> {
        let target = resolved(target);
        let temporary = beside(&target, tag)?;
        let header = read_header(&temporary)?;
        let file = OpenOptions::new().write(true).open(&temporary).map_err(NpyError::io(&temporary, "open"))?;
        Ok(PendingFile { target, temporary, file, header, owner: false })
    }

    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// Where the bytes are until they are committed.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Writes a block of dense C-order memory. Blocks of different callers must not overlap.
    pub fn write_block(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        block::write_to(&self.temporary, &self.file, &self.header, ranges, from, Writers::Several)
    }

    /// As [`PendingFile::write_block`], quicker where the block is in many small pieces: for the creator, while nobody else
    /// writes.
    pub fn write_block_alone(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        let writers = if self.owner { Writers::One } else { Writers::Several };
        block::write_to(&self.temporary, &self.file, &self.header, ranges, from, writers)
    }

    /// Waits until the system has taken what was written: a full disk or quota may show only now. Every process calls
    /// this before the others are told that it is done.
    pub fn flush(&self) -> Result<(), NpyError> {
        self.file.sync_data().map_err(NpyError::io(&self.temporary, "write"))
    }

    /// Gives the file its name, replacing what had it. One process calls this, after all have flushed.
    pub fn commit(mut self) -> Result<(), NpyError> {
        self.flush()?;
        fs::rename(&self.temporary, &self.target).map_err(NpyError::io(&self.target, "replace"))?;
        self.owner = false;
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if self.owner {
            // Nobody is left to tell.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Whether an output of this name can be made, found out before any work is done. Leaves nothing behind.
pub fn check_writable(path: &Path) -> Result<(), NpyError> {
    let target = replaceable(path)?;
    let mut attempt = 0u64;
    loop {
        let probe = beside(&target, &format!("{}-{attempt}", std::process::id()))?;
        match OpenOptions::new().write(true).create_new(true).open(&probe) {
            Ok(_) => return fs::remove_file(&probe).map_err(NpyError::io(&probe, "remove")),
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => attempt += 1,
            Err(cause) => return Err(NpyError::io(path, "create a file in its directory")(cause)),
        }
    }
}

/// The file to replace, where it may be replaced.
fn replaceable(path: &Path) -> Result<PathBuf, NpyError> {
    // Only the rename would find out, after all the work.
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(NpyError::IsDirectory { path: path.to_path_buf() });
    }
    let target = resolved(path);
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => return Err(NpyError::IsDirectory { path: path.to_path_buf() }),
        // A rename would replace a device by a file.
        Ok(found) if !found.is_file() => return Err(NpyError::NotRegular { path: path.to_path_buf() }),
        // A rename asks the directory's permission only; a file that is write protected should stay.
        Ok(_) => drop(OpenOptions::new().write(true).open(&target).map_err(NpyError::io(path, "write"))?),
        Err(cause) if cause.kind() == ErrorKind::NotFound => {}
        Err(cause) => return Err(NpyError::io(path, "write")(cause)),
    }
    let directory = directory(&target);
    match fs::metadata(directory) {
        Ok(_) => Ok(target),
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            Err(NpyError::NoDirectory { path: path.to_path_buf(), directory: directory.to_path_buf() })
        }
        Err(cause) => Err(NpyError::io(path, "write")(cause)),
    }
}

/// Where a symbolic link leads, so that a rename replaces the file and not the link.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The temporary name: hidden, in the target's directory (a rename does not cross file systems), the same for all who
/// know the tag.
fn beside(target: &Path, tag: &str) -> Result<PathBuf, NpyError> {
    let Some(name) = target.file_name() else {
        return Err(NpyError::IsDirectory { path: target.to_path_buf() });
    };
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.partial", tag.replace(['/', '\0'], "_")));
    Ok(directory(target).join(temporary))
}
