//! Temporary files in the target's directory (a rename cannot cross file systems), renamed when complete. The creator's
//! lock distinguishes the file from a leftover; other processes may open it with the same tag.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::access::Access;
use super::identity::Identity;
use super::names::{beside, followed};
use super::target::replaceable;
use super::{Announced, FileError, leftovers, registry};

/// Others lock the file briefly, to remove it as a leftover.
const MAX_ATTEMPTS: usize = 50;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A file without its final name; it is removed if the creator drops it before committing.
#[derive(Debug)]
pub struct Temporary {
    target: PathBuf,
    path: PathBuf,
    file: File,
    creator: bool,
    old: Option<Access>,
}

impl Temporary {
    /// Creates the file, with a tag for this run.
    ///
    /// # Errors
    /// If the target cannot be replaced, or if the file cannot be created.
    pub fn create(target: &Path, tag: &str) -> Result<Temporary, FileError> {
        let target = replaceable(target)?;
        let path = beside(&target, tag)?;
        let old = Access::of(&target);
        // Private until it gets the target's mode.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let mut files = registry::lock();
        // Registered first, because the process may abort here when memory runs out.
        files.push(path.clone());
        let file = created(&path, mode).inspect_err(|_| registry::forget(&mut files, &path))?;
        drop(files);
        Ok(Temporary { target, path, file, creator: true, old })
    }

    /// Opens the file that another process created with this target and tag.
    ///
    /// # Errors
    /// If the file does not exist or cannot be written.
    pub fn open(target: &Path, tag: &str) -> Result<Temporary, FileError> {
        let target = followed(target)?;
        let path = beside(&target, tag)?;
        let file = OpenOptions::new().write(true).open(&path).map_err(FileError::io(&path, "open"))?;
        Ok(Temporary { target, path, file, creator: false, old: None })
    }

    /// Announces another process's file, which this one removes if it ends early.
    ///
    /// # Errors
    /// If the target's links cannot be followed, or if the target is a directory.
    pub fn announce(target: &Path, tag: &str) -> Result<Announced, FileError> {
        Ok(Announced::new(beside(&followed(target)?, tag)?))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn is_creator(&self) -> bool {
        self.creator
    }

    /// Waits until all data are stored. A full disk may be reported only here, so every process must call this before
    /// it reports success.
    ///
    /// # Errors
    /// If the disk is full or no longer available.
    pub fn flush(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(FileError::io(&self.path, "write"))
    }

    /// Renames the file to its target, with the old file's access rights. For one process, after all have flushed.
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
            // Nothing can be done about a failure.
            let _ = fs::remove_file(&self.path);
            registry::forget(&mut files, &self.path);
        }
    }
}

fn created(path: &Path, mode: u32) -> Result<File, FileError> {
    for _ in 0..MAX_ATTEMPTS {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path);
        let file = match file {
            // A leftover with the same tag, or a link, which is never followed.
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
                if !leftovers::remove_one(path)? {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                continue;
            }
            file => file.map_err(FileError::io(path, "create"))?,
        };
        // Errors except `WouldBlock` mean that there are no locks.
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

pub fn write_whole(path: &Path, tag: &str, sections: &[&[u8]]) -> Result<(), FileError> {
    // Errors show the user's path.
    let named = |error| match error {
        FileError::Io { action, cause, .. } => FileError::Io { path: path.to_path_buf(), action, cause },
        other => other,
    };
    let temporary = Temporary::create(path, tag)?;
    let write = |cause| FileError::Io { path: path.to_path_buf(), action: "write", cause };
    sections.iter().try_for_each(|bytes| temporary.file().write_all(bytes)).map_err(write)?;
    temporary.commit().map_err(named)
}

#[cfg(test)]
mod tests;
