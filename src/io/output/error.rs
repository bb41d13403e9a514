//! What can be wrong with a file that is to be written, in the words that the user reads.
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
    #[error("{}: cannot {action}: {}", shown(path), without_code(cause))]
    Io { path: PathBuf, action: &'static str, cause: std::io::Error },

    /// A directory has the name.
    #[error("{}: is a directory", shown(path))]
    IsDirectory { path: PathBuf },

    /// Only a directory can have the name, and there is none.
    #[error("{}: is the name of a directory, not of a file", shown(path))]
    NamesDirectory { path: PathBuf },

    /// The directory lets only the owner of a file replace it, as `/tmp` does.
    #[error("{}: is another user's, in a directory where only owners may replace their files", shown(path))]
    NotOwner { path: PathBuf },

    /// A device, a pipe or a socket has the name; renaming would replace it.
    #[error("{}: is not a regular file", shown(path))]
    NotRegular { path: PathBuf },

    /// There is no directory to write it in.
    #[error("{}: the directory {} does not exist", shown(path), shown(directory))]
    NoDirectory { path: PathBuf, directory: PathBuf },

    /// Symbolic links that lead to each other.
    #[error("{}: its symbolic links lead to no file: they form a loop, or a very long chain", shown(path))]
    LinkLoop { path: PathBuf },
}

impl FileError {
    /// For `map_err`: what was tried when the operating system refused.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> FileError {
        move |cause| FileError::Io { path: path.to_path_buf(), action, cause }
    }
}

/// A path as messages have it: on one line, and without what a terminal would take for a command.
pub fn shown(path: &Path) -> impl Display {
    let name = path.display().to_string();
    if !name.contains(char::is_control) {
        return name;
    }
    name.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// The operating system's words; its number says nothing to the user.
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
