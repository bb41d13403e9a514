//! Errors for output files.
//!
//! Invariant: Every message is a single line that begins with the path.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum FileError {
    /// The system refused an action on the file.
    #[error("{}: cannot {action}: {}", display_path(path), without_code(cause))]
    Io { path: PathBuf, action: &'static str, cause: std::io::Error },

    /// The path is a directory.
    #[error("{}: is a directory", display_path(path))]
    IsDirectory { path: PathBuf },

    /// The path ends in `/`, `/.` or `..`, so it names a directory, which does not exist.
    #[error("{}: is the name of a directory, not of a file", display_path(path))]
    NamesDirectory { path: PathBuf },

    /// The directory has the sticky bit, like `/tmp`, so only a file's owner may replace it.
    #[error("{}: is another user's, in a directory where only owners may replace their files", display_path(path))]
    NotOwner { path: PathBuf },

    /// The path is a device, a pipe or a socket, which a rename would replace.
    #[error("{}: is not a regular file", display_path(path))]
    NotRegular { path: PathBuf },

    /// The directory does not exist.
    #[error("{}: the directory {} does not exist", display_path(path), display_path(directory))]
    NoDirectory { path: PathBuf, directory: PathBuf },

    /// The symbolic links form a loop or a very long chain.
    #[error("{}: its symbolic links lead to no file: they form a loop, or a very long chain", display_path(path))]
    LinkLoop { path: PathBuf },
}

impl FileError {
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> FileError {
        move |cause| FileError::Io { path: path.to_path_buf(), action, cause }
    }
}

/// On one line, with escaped control characters.
pub fn display_path(path: &Path) -> impl Display {
    let name = path.display().to_string();
    if !name.contains(char::is_control) {
        return name;
    }
    name.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// The system's error text without its number.
pub fn without_code(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests;
