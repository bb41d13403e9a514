//! Identifies the file that a path refers to, regardless of how the path is spelled.
//!
//! Invariant: Paths to the same file have equal identities. This includes hard links, symbolic links, different paths
//! to the same directory, and files that do not exist yet. There is one exception. On a file system that ignores case,
//! two paths that differ only in case have different identities if the file does not exist yet.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::links::{directory, followed};

/// A file, or the location of a file that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Device and inode of a file.
    File(u64, u64),
    /// Device and inode of a directory, and an unused name in this directory.
    Place(u64, u64, OsString),
}

impl Identity {
    /// The identity of the file at a path after following links, or `None` if no file can exist there.
    pub fn of(path: &Path) -> Option<Identity> {
        let target = followed(path).ok()?;
        if let Ok(found) = fs::metadata(&target) {
            return Some(Identity::of_file(&found));
        }
        let directory = fs::metadata(directory(&target)).ok()?;
        Some(Identity::Place(directory.dev(), directory.ino(), target.file_name()?.to_owned()))
    }

    /// The identity of an open regular file. Returns `None` for other files, because two writers may share a terminal
    /// or a pipe.
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
