//! A checkpoint's files (`docs/checkpoints.md`): a manifest, and every rank's sum.
//!
//! The manifest names a generation, whose lowest bit ends the names of its sums. Invariant: a generation's sums are
//! complete before the manifest names it, and unchanged until it names the next, so after a kill, the manifest and its
//! sums belong together.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::output::{FileError, directory, new_tag, without_code, write_whole};

const NAME: &str = "einsum-dist checkpoint ";
const VERSION: &str = "1";
const SUM_NAME: &[u8; 16] = b"einsum-dist sum\n";

/// Ranks of a killed run may live a little longer.
const MAX_ATTEMPTS: usize = 50;
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file has other content.
    #[error("is not a file of a checkpoint")]
    Foreign,
    /// Another version of the library wrote the file.
    #[error("has version {0} of the format, not {VERSION}")]
    Version(String),
    /// The file was truncated or changed.
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    /// The file cannot be read.
    #[error("cannot read the checkpoint: {}", without_code(.0))]
    Unreadable(#[source] io::Error),
    /// Another run uses the checkpoint.
    #[error("is the checkpoint of another run, which has not ended")]
    Busy,
    /// The checkpoint is of another plan.
    #[error("is the checkpoint of another plan (expression, extents, options, ranks, workers or processors differ)")]
    Plan,
    /// The checkpoint is of another alpha or beta.
    #[error("is the checkpoint of a run with another alpha or beta")]
    Factors,
    /// The operand of this number had other values.
    #[error("is the checkpoint of a run with other values in operand {0}")]
    Operand(usize),
    /// The tensor to which the result is added had other values.
    #[error("is the checkpoint of a run that added its result to other values")]
    Prior,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// A digest of the plan and the schedules.
    pub fingerprint: String,
    pub factors: String,
    /// What the plan was made from, as JSON, if it is known.
    pub origin: String,
    /// Of operands, and of the output's prior values, if read.
    pub operands: Vec<String>,
    pub generation: u64,
    /// Number of finished slices, or of those of each group of ranks.
    pub finished: usize,
    pub sums: Vec<String>,
}

#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Closed after the path is removed, which releases the lock.
    file: File,
}

impl Lock {
    /// Locks a checkpoint. On file systems without locks, other runs are not noticed.
    ///
    /// # Errors
    /// If another run uses the checkpoint, or if the file of the lock cannot be created.
    pub fn new(checkpoint: &Path) -> Result<Lock, CheckpointError> {
        let path = with_suffix(checkpoint, ".lock");
        for _ in 0..MAX_ATTEMPTS {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(CheckpointError::Unreadable)?;
            if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Ok(Lock { path, file });
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
        Err(CheckpointError::Busy)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file with content is the user's. A lock that stays does no harm.
        if self.file.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

pub fn digest(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

pub fn sum_path(path: &Path, rank: usize, generation: u64) -> PathBuf {
    with_suffix(path, &format!(".rank{rank}-{}", generation % 2))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

impl Manifest {
    /// A manifest's bytes, unchecked; empty without a file. Of other files, only the beginning.
    ///
    /// # Errors
    /// If the file cannot be read, or has other content.
    pub fn read(path: &Path) -> Result<Vec<u8>, CheckpointError> {
        let mut bytes = Vec::new();
        let Some(file) = open(path)? else { return Ok(bytes) };
        let mut read = |most| (&file).take(most).read_to_end(&mut bytes).map_err(CheckpointError::Unreadable);
        read(NAME.len() as u64)?;
        if bytes != NAME.as_bytes() {
            return Err(CheckpointError::Foreign);
        }
        (&file).read_to_end(&mut bytes).map_err(CheckpointError::Unreadable)?;
        Ok(bytes)
    }

    /// # Errors
    /// If the manifest is damaged or has another version.
    pub fn parse(bytes: &[u8]) -> Result<Manifest, CheckpointError> {
        let damaged = CheckpointError::Damaged("its manifest is truncated or changed");
        let Some((version, _)) =
            std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix(NAME)?.split_once('\n'))
        else {
            return Err(damaged);
        };
        if version != VERSION {
            return Err(CheckpointError::Version(version.chars().filter(|c| !c.is_control()).take(20).collect()));
        }
        let Some((text, sum)) = bytes.len().checked_sub(33).and_then(|at| bytes.split_at_checked(at)) else {
            return Err(damaged);
        };
        if sum.strip_suffix(b"\n") != Some(digest(text).as_bytes()) {
            return Err(damaged);
        }
        serde_json::from_slice(&text[NAME.len() + VERSION.len()..]).map_err(|_| damaged)
    }

    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        // Serialising into memory cannot fail.
        let text = format!("{NAME}{VERSION}\n{}\n", serde_json::to_string(self).unwrap_or_default());
        write_whole(path, &new_tag(), &[text.as_bytes(), digest(text.as_bytes()).as_bytes(), b"\n"])?;
        sync_directory(path);
        Ok(())
    }
}

pub fn write_sum(path: &Path, values: &[u8]) -> Result<(), FileError> {
    write_whole(path, &new_tag(), &[SUM_NAME, values])?;
    sync_directory(path);
    Ok(())
}

/// # Errors
/// If the file cannot be read, or has another length or digest than expected.
pub fn read_sum(path: &Path, values: &mut [u8], expected: &str) -> Result<(), CheckpointError> {
    let Some(mut file) = open(path)? else { return Err(CheckpointError::Damaged("the file is missing")) };
    let length = file.metadata().map_err(CheckpointError::Unreadable)?.len();
    if length != (SUM_NAME.len() + values.len()) as u64 {
        return Err(CheckpointError::Damaged("the file has another length"));
    }
    let mut name = [0; SUM_NAME.len()];
    file.read_exact(&mut name).and_then(|()| file.read_exact(values)).map_err(CheckpointError::Unreadable)?;
    let same = &name == SUM_NAME && digest(values) == expected;
    if same { Ok(()) } else { Err(CheckpointError::Damaged("its values were changed")) }
}

/// Checks that there is no file at this path, or one that contains a sum.
///
/// # Errors
/// If the file has other content, or cannot be read.
pub fn check_sum_path(path: &Path) -> Result<(), CheckpointError> {
    if begins_with(path, SUM_NAME)? { Ok(()) } else { Err(CheckpointError::Foreign) }
}

/// Removes a file of a checkpoint. A file with other content stays.
pub fn remove(path: &Path) -> Result<(), FileError> {
    let ours = begins_with(path, NAME.as_bytes()).unwrap_or(false) || begins_with(path, SUM_NAME).unwrap_or(false);
    match if ours { fs::remove_file(path) } else { Ok(()) } {
        Err(cause) if cause.kind() != ErrorKind::NotFound => {
            Err(FileError::Io { path: path.to_path_buf(), action: "remove", cause })
        }
        _ => Ok(()),
    }
}

fn open(path: &Path) -> Result<Option<File>, CheckpointError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(CheckpointError::Unreadable(cause)),
    }
}

fn begins_with(path: &Path, name: &[u8]) -> Result<bool, CheckpointError> {
    let Some(file) = open(path)? else { return Ok(true) };
    let mut bytes = Vec::new();
    file.take(name.len() as u64).read_to_end(&mut bytes).map_err(CheckpointError::Unreadable)?;
    Ok(bytes == name)
}

/// Makes a rename survive a power failure, if the file system can.
fn sync_directory(path: &Path) {
    let _ = File::open(directory(path)).and_then(|directory| directory.sync_all());
}

#[cfg(test)]
mod tests;
