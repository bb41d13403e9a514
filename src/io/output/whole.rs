//! Writes a whole file from one process in a single call.

use std::io::Write;
use std::path::Path;

use super::{FileError, Temporary};

/// Writes a complete file of these sections.
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
