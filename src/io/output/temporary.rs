//! The file beside the target that is renamed to the target when it is complete.
//!
//! One process creates it, others may open it by the same tag. Invariants: its name is hidden; it is in the target's
//! directory (a rename does not cross file systems), within the length that the file system allows however long the
//! target's name is, and the same for all processes that know the tag. Its creator holds its lock while it lives, so
//! that others can distinguish it from a leftover.

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

/// How often to try to create a file while a sweep of leftovers has it locked. A sweep holds the lock for an instant,
/// unless it is descheduled.
const MAX_ATTEMPTS: usize = 50;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A file that does not have its final name yet. If its creator drops it, it is removed.
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
    /// Creates the file. The tag distinguishes this run from every other.
    ///
    /// # Errors
    /// The target cannot be replaced, or the file cannot be created.
    pub fn create(target: &Path, tag: &str) -> Result<Temporary, FileError> {
        let target = replaceable(target)?;
        let path = beside(&target, tag)?;
        let old = Access::of(&target);
        // The replacement of a file that others may not read must not be readable before it has that file's mode.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let mut files = registry::lock();
        // Registered first: memory may run out here, which ends the process.
        files.push(path.clone());
        let file = created(&path, mode).inspect_err(|_| registry::forget(&mut files, &path))?;
        drop(files);
        Ok(Temporary { target, path, file, creator: true, old })
    }

    /// Opens the file that another process created with the same target and tag.
    ///
    /// # Errors
    /// It does not exist, or cannot be written.
    pub fn open(target: &Path, tag: &str) -> Result<Temporary, FileError> {
        let target = followed(target)?;
        let path = beside(&target, tag)?;
        let file = OpenOptions::new().write(true).open(&path).map_err(FileError::io(&path, "open"))?;
        Ok(Temporary { target, path, file, creator: false, old: None })
    }

    /// Makes this process remove, if it ends early, the file that another process is about to create with this target
    /// and tag.
    ///
    /// # Errors
    /// The target's links cannot be followed, or it is a directory.
    pub fn announce(target: &Path, tag: &str) -> Result<Announced, FileError> {
        Ok(Announced::new(beside(&followed(target)?, tag)?))
    }

    /// The path of the file until it is committed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether this process created it.
    pub fn is_creator(&self) -> bool {
        self.creator
    }

    /// Waits until the system has stored what was written: a full disk or quota may show only now. Every process calls
    /// this before it reports to the others that it is done.
    ///
    /// # Errors
    /// The disk is full, or is gone.
    pub fn flush(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(FileError::io(&self.path, "write"))
    }

    /// Renames the file to its target, with the mode, the access control list and, where the system allows it, the
    /// owner of the file that it replaces. One process calls this, after all have flushed.
    ///
    /// # Errors
    /// The file cannot be written or renamed; then it is removed.
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
            // Nothing can be done about a failure.
            let _ = fs::remove_file(&self.path);
            registry::forget(&mut files, &self.path);
        }
    }
}

/// Creates the file with its lock held.
fn created(path: &Path, mode: u32) -> Result<File, FileError> {
    for _ in 0..MAX_ATTEMPTS {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path);
        let file = match file {
            // A leftover with the same tag, or a link that someone put there: never followed.
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
                if !leftovers::remove_one(path)? {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                continue;
            }
            file => file.map_err(FileError::io(path, "create"))?,
        };
        // On a file system without locks, the file has none.
        let locked = !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
        let mine = file.metadata().map(|found| Identity::of_file(&found)).ok();
        if locked && mine.is_some() && fs::symlink_metadata(path).map(|found| Identity::of_file(&found)).ok() == mine {
            return Ok(file);
        }
        // A sweep of leftovers intervened.
        std::thread::sleep(RETRY_INTERVAL);
    }
    Err(FileError::io(path, "create")(Error::from(ErrorKind::AlreadyExists)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Imitates a sweep of leftovers that is descheduled after it has locked a file.
    #[test]
    fn a_name_that_is_being_swept_is_waited_for() {
        let path = std::env::temp_dir().join(format!("einsum-dist-swept-{}", std::process::id()));
        let swept = File::create(&path).unwrap();
        swept.lock().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(3 * RETRY_INTERVAL);
                fs::remove_file(&path).unwrap();
                drop(swept);
            });
            assert!(created(&path, 0o600).is_ok());
        });
        fs::remove_file(&path).unwrap();
        let kept = File::create(&path).unwrap();
        kept.lock().unwrap();
        assert!(created(&path, 0o600).unwrap_err().to_string().ends_with("cannot create: entity already exists"));
        fs::remove_file(&path).unwrap();
    }
}
