//! What can be wrong with a file, in the words that the user reads.
//!
//! Invariant: every message begins with the path, is one line, and says what to do where NumPy can do it.

use crate::dtype::Dtype;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    #[error("{}: cannot {action}: {}", path.display(), without_code(cause))]
    Io { path: PathBuf, action: &'static str, cause: std::io::Error },

    #[error("{}: is a directory", path.display())]
    IsDirectory { path: PathBuf },

    #[error("{}: is not a regular file", path.display())]
    NotRegular { path: PathBuf },

    #[error("{}: the directory {} does not exist", path.display(), directory.display())]
    NoDirectory { path: PathBuf, directory: PathBuf },

    #[error("{}: is not an .npy file: it does not begin with \\x93NUMPY", path.display())]
    NotNpy { path: PathBuf },

    #[error("{}: is an .npz archive; save one of its arrays alone: np.save(\"NAME.npy\", np.load({})[\"NAME\"])",
        path.display(), python(path))]
    IsArchive { path: PathBuf },

    #[error("{}: has .npy version {major}.{minor}; 1.0, 2.0 and 3.0 are known", path.display())]
    Version { path: PathBuf, major: u8, minor: u8 },

    #[error("{}: has a damaged .npy header: {problem}", path.display())]
    Header { path: PathBuf, problem: String },

    /// Numbers of a type that is not computed with; NumPy converts them.
    #[error("{}: holds {found}; convert it: np.save({1}, np.load({1}).astype(np.{to}))", path.display(), python(path))]
    Convert { path: PathBuf, found: String, to: Dtype },

    #[error("{}: is a structured array; save one field: np.save({1}, np.load({1})[{field}])",
        path.display(), python(path))]
    Structured { path: PathBuf, field: String },

    #[error("{}: holds {found}, not numbers", path.display())]
    NotNumbers { path: PathBuf, found: String },

    #[error("{}: is truncated: {expected} bytes expected, {found} found", path.display())]
    Truncated { path: PathBuf, expected: u64, found: u64 },

    #[error("{}: {dtype} of shape {} is larger than a file can be", path.display(), tuple(shape))]
    TooLarge { path: PathBuf, dtype: String, shape: Vec<u64> },

    /// The caller's block does not fit the file or the buffer.
    #[error("{}: block [{}] of {bytes} bytes does not fit {dtype} of shape {}",
        path.display(), intervals(ranges), tuple(shape))]
    Block { path: PathBuf, ranges: Vec<Range<usize>>, bytes: usize, dtype: Dtype, shape: Vec<u64> },
}

impl NpyError {
    /// For `map_err`: what was tried when the operating system said no.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> NpyError {
        move |cause| NpyError::Io { path: path.to_path_buf(), action, cause }
    }
}

/// The operating system's words; its number says nothing to the user.
fn without_code(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

/// The path as a Python string.
fn python(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// The shape as NumPy prints it.
fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn intervals(ranges: &[Range<usize>]) -> String {
    ranges.iter().map(|r| format!("{}..{}", r.start, r.end)).collect::<Vec<_>>().join(", ")
}
