//! Reads and writes NumPy's `.npy` files block by block.
//!
//! A file with an accepted header is long enough for its shape. Element types are not converted. Files are not
//! memory-mapped, because a truncated one would raise SIGBUS.

mod block;
mod descr;
mod header;
mod literal;

pub use block::{read_block, write_block};
pub use header::{NpyHeader, create, read_header, read_header_from};

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::dtype::Dtype;
use crate::io::output::{FileError, Temporary, display_path, without_code};
use block::Writers;

const MAX_LISTED_FIELDS: usize = 8;

/// Why a file cannot be read or written. Messages are one line, from the path to any NumPy command that helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum NpyError {
    /// The system refused to open, read or write the file.
    #[error("{}: cannot {action}: {}", display_path(path), without_code(cause))]
    Io { path: PathBuf, action: &'static str, cause: std::io::Error },

    /// The path is not a regular file, or an output cannot be written.
    #[error(transparent)]
    File(#[from] FileError),

    /// The magic bytes are missing.
    #[error("{}: is not an .npy file: it does not begin with \\x93NUMPY", display_path(path))]
    NotNpy { path: PathBuf },

    /// The file is an `.npz` archive.
    #[error(
        "{}: is an .npz archive; save one of its arrays alone: np.save({}, np.load({})[\"NAME\"])",
        display_path(path),
        python(saved),
        python(path)
    )]
    IsArchive { path: PathBuf, saved: PathBuf },

    /// The format's version is unknown.
    #[error("{}: has .npy version {major}.{minor}; 1.0, 2.0 and 3.0 are known", display_path(path))]
    Version { path: PathBuf, major: u8, minor: u8 },

    /// The header cannot be parsed.
    #[error("{}: has a damaged .npy header: {problem}", display_path(path))]
    Header { path: PathBuf, problem: String },

    /// The element type is not supported.
    #[error("{}: holds {found}; convert it: np.save({}, np.load({}).astype(np.{to})){}",
        display_path(path), python(saved), python(path), noted(*loss))]
    Convert { path: PathBuf, found: Box<str>, to: Dtype, saved: Box<Path>, loss: Option<&'static str> },

    /// The elements are records with several fields.
    #[error("{}: is a structured array of {}; save each field that is an operand: np.save({}, np.load({})[{}])",
        display_path(path), listed(fields), python(saved), python(path), quoted(fields.first().map_or("", String::as_str)))]
    Structured { path: PathBuf, fields: Vec<String>, saved: PathBuf },

    /// The elements are not numbers.
    #[error("{}: holds {found}, not numbers", display_path(path))]
    NotNumbers { path: PathBuf, found: String },

    /// The file ends before its last element.
    #[error("{}: is truncated: {expected} bytes expected, {found} found", display_path(path))]
    Truncated { path: PathBuf, expected: u64, found: u64 },

    /// The file would exceed the maximum file size.
    #[error("{}: {dtype} of shape {} is larger than a file can be", display_path(path), tuple(shape))]
    TooLarge { path: PathBuf, dtype: String, shape: Vec<u64> },

    /// The caller's block exceeds the shape, or differs in size from the buffer.
    #[error(
        "{}: block [{}] of {bytes} bytes does not fit {dtype} of shape {}",
        display_path(path),
        intervals(ranges),
        tuple(shape)
    )]
    Block { path: PathBuf, ranges: Vec<Range<usize>>, bytes: usize, dtype: Dtype, shape: Vec<u64> },
}

impl NpyError {
    fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> NpyError {
        move |cause| NpyError::Io { path: path.to_path_buf(), action, cause }
    }
}

/// As a Python string literal, with surrogates for bytes that are not UTF-8.
fn python(path: &Path) -> String {
    let mut text = String::from("\"");
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&escaped(chunk.valid()));
        text.extend(chunk.invalid().iter().map(|byte| format!("\\udc{byte:02x}")));
    }
    text + "\""
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

fn listed(fields: &[String]) -> String {
    let names: Vec<String> = fields.iter().take(MAX_LISTED_FIELDS).map(|name| quoted(name)).collect();
    let more = if fields.len() > MAX_LISTED_FIELDS { ", ..." } else { "" };
    format!("{}{more}", names.join(", "))
}

fn noted(loss: Option<&str>) -> String {
    loss.map_or(String::new(), |loss| format!(" ({loss})"))
}

fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn intervals(ranges: &[Range<usize>]) -> String {
    ranges.iter().map(|r| format!("{}..{}", r.start, r.end)).collect::<Vec<_>>().join(", ")
}

/// An `.npy` file that appears complete or not at all.
///
/// One process creates it, others open it, each writes its blocks and flushes, and the creator commits.
#[derive(Debug)]
pub struct PendingFile {
    temporary: Temporary,
    header: NpyHeader,
}

impl PendingFile {
    /// Creates the temporary file with its final length and a tag for this run.
    pub fn create(target: &Path, tag: &str, dtype: Dtype, shape: &[usize]) -> Result<PendingFile, NpyError> {
        let (text, header) = header::compose(target, dtype, shape)?;
        let temporary = Temporary::create(target, tag)?;
        header::lay_out(temporary.path(), temporary.file(), &text, &header)?;
        Ok(PendingFile { temporary, header })
    }

    pub fn open(target: &Path, tag: &str) -> Result<PendingFile, NpyError> {
        let temporary = Temporary::open(target, tag)?;
        let header = read_header(temporary.path())?;
        Ok(PendingFile { temporary, header })
    }

    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Blocks from different callers must not overlap.
    pub fn write_block(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, Writers::Several)
    }

    /// Like [`PendingFile::write_block`], faster for many short runs, if no other process writes.
    pub fn write_block_alone(&self, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
        self.write(ranges, from, if self.temporary.is_creator() { Writers::One } else { Writers::Several })
    }

    fn write(&self, ranges: &[Range<usize>], from: &[u8], writers: Writers) -> Result<(), NpyError> {
        block::write_to(self.temporary.path(), self.temporary.file(), &self.header, ranges, from, writers)
    }

    /// Like [`Temporary::flush`]; every process must call this before it reports success.
    pub fn flush(&self) -> Result<(), NpyError> {
        Ok(self.temporary.flush()?)
    }

    /// Renames the file over its target; for one process, after all have flushed.
    pub fn commit(self) -> Result<(), NpyError> {
        Ok(self.temporary.commit()?)
    }
}
