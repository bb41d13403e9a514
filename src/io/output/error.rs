//! Errors of output files, with the messages that the user reads.
//!
//! Invariant: every message begins with the path and is one line.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum FileError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {}", display_path(path), without_code(cause))]
    Io { path: PathBuf, action: &'static str, cause: std::io::Error },

    /// The name is that of a directory.
    #[error("{}: is a directory", display_path(path))]
    IsDirectory { path: PathBuf },

    /// The name can only be that of a directory, and there is none.
    #[error("{}: is the name of a directory, not of a file", display_path(path))]
    NamesDirectory { path: PathBuf },

    /// The directory lets only the owner of a file replace it, as `/tmp` does.
    #[error("{}: is another user's, in a directory where only owners may replace their files", display_path(path))]
    NotOwner { path: PathBuf },

    /// The name is that of a device, a pipe or a socket; renaming would replace it.
    #[error("{}: is not a regular file", display_path(path))]
    NotRegular { path: PathBuf },

    /// The directory for the file does not exist.
    #[error("{}: the directory {} does not exist", display_path(path), display_path(directory))]
    NoDirectory { path: PathBuf, directory: PathBuf },

    /// Symbolic links that form a loop, or a very long chain.
    #[error("{}: its symbolic links lead to no file: they form a loop, or a very long chain", display_path(path))]
    LinkLoop { path: PathBuf },
}

impl FileError {
    /// For `map_err`: adds the action that the operating system refused.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> FileError {
        move |cause| FileError::Io { path: path.to_path_buf(), action, cause }
    }
}

/// A path as messages show it: on one line, and without control characters that a terminal would obey.
pub fn display_path(path: &Path) -> impl Display {
    let name = path.display().to_string();
    if !name.contains(char::is_control) {
        return name;
    }
    name.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// The operating system's text without its error number, which means nothing to the user.
pub fn without_code(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_the_name() {
        let error = FileError::IsDirectory { path: PathBuf::from("a\nb\u{1b}[31m\u{e4}") };
        assert_eq!(error.to_string(), "a\\nb\\u{1b}[31m\u{e4}: is a directory");
    }
}
