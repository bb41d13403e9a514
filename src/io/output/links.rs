//! Follows the symbolic links of an output path to find its file and directory.
//!
//! Guarantee: No file is opened, created or changed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::FileError;

/// As in Linux.
const MAX_LINKS: usize = 40;

/// Follows symbolic links, so that a rename replaces the file, which need not exist yet, and not the link.
pub(super) fn followed(path: &Path) -> Result<PathBuf, FileError> {
    let mut target = path.to_path_buf();
    for _ in 0..=MAX_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_symlink() => {
                let next = fs::read_link(&target).map_err(FileError::io(path, "follow its link"))?;
                target = target.parent().map_or(next.clone(), |parent| parent.join(&next));
            }
            Err(cause) if ![ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&cause.kind()) => {
                return Err(FileError::io(path, "write")(cause));
            }
            _ => return Ok(target),
        }
    }
    Err(FileError::LinkLoop { path: path.to_path_buf() })
}

pub(in crate::io) fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
