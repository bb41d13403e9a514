//! Identifies the file that a path refers to, however spelled.
//!
//! Invariant: paths to the same file, even a missing one, have equal identities, except paths to a missing file that
//! differ only in case, on a file system that ignores it.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::names::{directory, followed};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Device and inode of a file.
    File(u64, u64),
    /// Device and inode of a directory, and an unused name in it.
    Place(u64, u64, OsString),
}

impl Identity {
    /// Follows links; `None` if no file can exist there.
    pub fn of(path: &Path) -> Option<Identity> {
        let target = followed(path).ok()?;
        if let Ok(found) = fs::metadata(&target) {
            return Some(Identity::of_file(&found));
        }
        let directory = fs::metadata(directory(&target)).ok()?;
        Some(Identity::Place(directory.dev(), directory.ino(), target.file_name()?.to_owned()))
    }

    /// `None` unless a regular file; two writers may share others.
    pub fn of_open(file: impl AsFd) -> Option<Identity> {
        let owned = file.as_fd().try_clone_to_owned().ok()?;
        let found = fs::File::from(owned).metadata().ok()?;
        found.is_file().then(|| Identity::of_file(&found))
    }

    pub(super) fn of_file(found: &Metadata) -> Identity {
        Identity::File(found.dev(), found.ino())
    }
}

#[cfg(test)]
mod tests;
