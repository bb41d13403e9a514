//! Checks whether an output path can be written.
//!
//! Guarantee: this leaves no file behind, except for an empty one after a `SIGKILL` on a file system without
//! `O_TMPFILE`.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::names::{beside, directory, fits, followed};
use super::{FileError, registry};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputCheck {
    /// The replaced file's user and group, if they change because only the administrator may give files away.
    pub loses_owner: Option<(u32, u32)>,
}

/// Checks whether this output can be created.
///
/// # Errors
/// If the path is a directory, a device, a pipe or a socket, links form a loop, the directory does not exist or cannot
/// be written, or the file is write-protected.
pub fn examine(path: &Path) -> Result<OutputCheck, FileError> {
    let target = replaceable(path)?;
    let probe = probe(path, &target)?;
    let keeps = |old: &Metadata| fchown(&probe, Some(old.uid()), Some(old.gid())).is_ok();
    let old = fs::metadata(&target).ok();
    Ok(OutputCheck { loses_owner: old.filter(|old| !keeps(old)).map(|old| (old.uid(), old.gid())) })
}

fn probe(path: &Path, target: &Path) -> Result<File, FileError> {
    let refused = |cause| FileError::io(path, "create a file in its directory")(cause);
    let process = std::process::id();
    let mut attempt = 0u64;
    let mut named = beside(target, &format!("{process:x}-{attempt:016x}"))?;
    if !fits(&named) {
        return Err(refused(rustix::io::Errno::NAMETOOLONG.into()));
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let unnamed = OFlags::TMPFILE.bits().cast_signed();
        if let Ok(probe) = OpenOptions::new().write(true).mode(0o600).custom_flags(unnamed).open(directory(target)) {
            return Ok(probe);
        }
    }
    // A signal handler waits for this lock.
    let _lock = registry::lock();
    loop {
        match OpenOptions::new().write(true).create_new(true).open(&named) {
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
                attempt += 1;
                named = beside(target, &format!("{process:x}-{attempt:016x}"))?;
            }
            created => {
                let probe = created.map_err(refused)?;
                return match fs::remove_file(&named) {
                    Err(cause) if cause.kind() != ErrorKind::NotFound => Err(FileError::io(&named, "remove")(cause)),
                    _ => Ok(probe),
                };
            }
        }
    }
}

pub(super) fn replaceable(path: &Path) -> Result<PathBuf, FileError> {
    // Otherwise the rename would fail after the run.
    if names_directory(path) {
        return Err(no_file(path));
    }
    // First, because only the kernel may be able to follow links such as /dev/stdout.
    special(path, fs::metadata(path).ok().as_ref())?;
    let target = followed(path)?;
    let old = match fs::metadata(&target) {
        Ok(found) => Some(found),
        Err(cause) if cause.kind() == ErrorKind::NotFound => None,
        Err(cause) => return Err(FileError::io(path, "write")(cause)),
    };
    special(path, old.as_ref())?;
    if old.is_some() {
        // A rename needs permission only for the directory.
        drop(OpenOptions::new().write(true).open(&target).map_err(FileError::io(path, "write"))?);
    }
    let directory = directory(&target);
    match fs::metadata(directory) {
        Ok(_) if names_directory(&target) => Err(no_file(path)),
        Ok(directory) if old.is_some_and(|old| only_owners(&directory, &old)) => {
            Err(FileError::NotOwner { path: path.to_path_buf() })
        }
        Ok(_) => Ok(target),
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            Err(FileError::NoDirectory { path: path.to_path_buf(), directory: directory.to_path_buf() })
        }
        Err(cause) => Err(FileError::io(path, "write")(cause)),
    }
}

fn names_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    path.file_name().is_none() || bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

fn no_file(path: &Path) -> FileError {
    let path = path.to_path_buf();
    if path.is_dir() { FileError::IsDirectory { path } } else { FileError::NamesDirectory { path } }
}

/// Whether the system refuses a rename, because of the sticky bit and other owners.
fn only_owners(directory: &Metadata, old: &Metadata) -> bool {
    const STICKY: u32 = 0o1000;
    let me = geteuid();
    directory.mode() & STICKY != 0 && !me.is_root() && ![directory.uid(), old.uid()].contains(&me.as_raw())
}

fn special(path: &Path, found: Option<&Metadata>) -> Result<(), FileError> {
    match found {
        Some(found) if found.is_dir() => Err(FileError::IsDirectory { path: path.to_path_buf() }),
        Some(found) if !found.is_file() => Err(FileError::NotRegular { path: path.to_path_buf() }),
        _ => Ok(()),
    }
}
