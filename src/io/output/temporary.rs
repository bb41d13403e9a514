//! Creates a temporary file in the target's directory, and renames it to the target when it is complete.
//!
//! One process creates the file, and others may open it with the same tag. The file is hidden, and it is in the
//! target's directory because a rename cannot cross file systems. The module `names` determines the name of the file.
//! The creator holds a lock on the file until the file is renamed or removed, so other processes can distinguish it
//! from a leftover.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::access::Access;
use super::identity::Identity;
use super::links::followed;
use super::names::beside;
use super::target::replaceable;
use super::{Announced, FileError, leftovers, registry};

/// Maximum number of attempts to create a file while another process locks it to remove it as a leftover. The other
/// process holds the lock only briefly, unless it is descheduled.
const MAX_ATTEMPTS: usize = 50;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A file that does not have its final name yet. If the creator drops this value before committing, the file is
/// removed.
#[derive(Debug)]
pub struct Temporary {
    target: PathBuf,
    path: PathBuf,
    file: File,
    creator: bool,
    /// The access rights of the file that is replaced.
    old: Option<Access>,
}

impl Temporary {
    /// Creates the file. The tag distinguishes this run from all other runs.
    ///
    /// # Errors
    /// If the target cannot be replaced, or if the file cannot be created.
    pub fn create(target: &Path, tag: &str) -> Result<Temporary, FileError> {
        let target = replaceable(target)?;
        let path = beside(&target, tag)?;
        let old = Access::of(&target);
        // If the target exists, other users may not be allowed to read it. The new file is therefore private until the
        // target's mode is applied to it.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let mut files = registry::lock();
        // Registered before the file is created, so that the file is not left behind if the process aborts here because
        // memory runs out.
        files.push(path.clone());
        let file = created(&path, mode).inspect_err(|_| registry::forget(&mut files, &path))?;
        drop(files);
        Ok(Temporary { target, path, file, creator: true, old })
    }

    /// Opens the file that another process has created with the same target and tag.
    ///
    /// # Errors
    /// If the file does not exist or cannot be written.
    pub fn open(target: &Path, tag: &str) -> Result<Temporary, FileError> {
        let target = followed(target)?;
        let path = beside(&target, tag)?;
        let file = OpenOptions::new().write(true).open(&path).map_err(FileError::io(&path, "open"))?;
        Ok(Temporary { target, path, file, creator: false, old: None })
    }

    /// Announces the file that another process is about to create with this target and tag. If this process ends early,
    /// it removes the file.
    ///
    /// # Errors
    /// If the target's links cannot be followed, or if the target is a directory.
    pub fn announce(target: &Path, tag: &str) -> Result<Announced, FileError> {
        Ok(Announced::new(beside(&followed(target)?, tag)?))
    }

    /// The path of the file before it is committed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether this process created the file.
    pub fn is_creator(&self) -> bool {
        self.creator
    }

    /// Waits until the system has stored all written data. A full disk or an exceeded quota may be reported only here.
    /// Every process must call this before it reports success to the other processes.
    ///
    /// # Errors
    /// If the disk is full or no longer available.
    pub fn flush(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(FileError::io(&self.path, "write"))
    }

    /// Renames the file to its target. The file is given the mode, the access control list and, where the system allows
    /// it, the owner of the file that it replaces. Must be called by only one process, after all processes have
    /// flushed.
    ///
    /// # Errors
    /// If the file cannot be written or renamed. The file is then removed.
    pub fn commit(mut self) -> Result<(), FileError> {
        self.flush()?;
        if let Some(old) = Access::of(&self.target).or_else(|| self.old.take()) {
            old.give(&self.file).map_err(FileError::io(&self.target, "set the mode of"))?;
        }
        let mut files = registry::lock();
        fs::rename(&self.path, &self.target).map_err(FileError::io(&self.target, "replace"))?;
        registry::forget(&mut files, &self.path);
        self.creator = false;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.creator {
            let mut files = registry::lock();
            // A failure is ignored, because nothing can be done about it.
            let _ = fs::remove_file(&self.path);
            registry::forget(&mut files, &self.path);
        }
    }
}

/// Creates the file and locks it.
fn created(path: &Path, mode: u32) -> Result<File, FileError> {
    for _ in 0..MAX_ATTEMPTS {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path);
        let file = match file {
            // The existing file is a leftover with the same tag, or a link. Links are never followed.
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
                if !leftovers::remove_one(path)? {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                continue;
            }
            file => file.map_err(FileError::io(path, "create"))?,
        };
        // Some file systems have no locks. On such file systems, the file is used without a lock, because only
        // `WouldBlock` means that another process holds the lock.
        let locked = !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
        let mine = file.metadata().map(|found| Identity::of_file(&found)).ok();
        if locked && mine.is_some() && fs::symlink_metadata(path).map(|found| Identity::of_file(&found)).ok() == mine {
            return Ok(file);
        }
        // Another process has locked or removed the file as a leftover.
        std::thread::sleep(RETRY_INTERVAL);
    }
    Err(FileError::io(path, "create")(Error::from(ErrorKind::AlreadyExists)))
}

#[cfg(test)]
mod tests;
