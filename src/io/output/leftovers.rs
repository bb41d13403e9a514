//! Removes killed runs' temporary files, found by name.
//!
//! Guarantee: a file is removed only under its lock; on file systems without locks, it is reported to the user.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::FileError;
use super::identity::Identity;
use super::names::{directory, followed, is_temporary, stems};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    /// Another process is writing the file; else it could not be opened, locked or removed.
    pub alive: bool,
}

/// Whether [`remove_leftovers`] for `target` would remove the file at `path`, now or later.
pub fn would_be_removed(target: &Path, path: &Path) -> bool {
    let here = |path: &Path| fs::metadata(directory(path)).ok().map(|found| Identity::of_file(&found));
    let (Ok(target), Ok(followed)) = (followed(target), followed(path)) else { return false };
    let (Some(output), Some(name)) = (target.file_name(), followed.file_name()) else { return false };
    let by_name = stems(output).iter().any(|stem| is_temporary(name, stem));
    (by_name && here(&target).is_some_and(|there| here(&followed) == Some(there)))
        // `path` may be a link to a leftover.
        || Identity::of(path).is_some_and(|file| is_leftover(&target, &file))
}

/// Like [`would_be_removed`], for a file's identity.
pub fn is_leftover(target: &Path, file: &Identity) -> bool {
    leftovers(target).iter().any(|path| Identity::of(path).as_ref() == Some(file))
}

fn leftovers(target: &Path) -> Vec<PathBuf> {
    let Ok(target) = followed(target) else { return Vec::new() };
    let (Some(name), Ok(entries)) = (target.file_name(), fs::read_dir(directory(&target))) else { return Vec::new() };
    let stems = stems(name);
    let mut names: Vec<OsString> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.retain(|name| stems.iter().any(|stem| is_temporary(name, stem)));
    names.sort();
    names.into_iter().map(|name| target.with_file_name(name)).collect()
}

/// Removes the temporary files of killed runs; returns those that remain. Cost: O(files in the directory).
pub fn remove_leftovers(target: &Path) -> Vec<Leftover> {
    leftovers(target).into_iter().filter_map(|path| remove(&path).map(|alive| Leftover { path, alive })).collect()
}

/// Removes a leftover, unless another process has locked it; returns whether its name is free.
pub(super) fn remove_one(path: &Path) -> Result<bool, FileError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() && remove(path) == Some(true) => Ok(false),
        Ok(_) => match fs::remove_file(path) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => Err(FileError::io(path, "remove")(cause)),
            _ => Ok(true),
        },
        Err(_) => Ok(true),
    }
}

/// Removes a file that no process has locked; returns whether one has, or `None` if nothing is left to remove.
fn remove(path: &Path) -> Option<bool> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() {
        return None;
    }
    let no_follow = OFlags::NOFOLLOW.bits().cast_signed();
    let file = match OpenOptions::new().read(true).write(true).custom_flags(no_follow).open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return None,
        Err(_) => return Some(false),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Some(true),
        Err(TryLockError::Error(_)) => return Some(false),
    }
    // It may have been renamed or removed before it was locked.
    let locked = file.metadata().ok().map(|found| Identity::of_file(&found));
    if fs::symlink_metadata(path).ok().map(|found| Identity::of_file(&found)) != locked {
        return None;
    }
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Some(false),
        _ => None,
    }
}
