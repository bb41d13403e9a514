//! The library's error type.

use std::fmt;
use std::path::PathBuf;

use einsum_parser::ParseError;

use super::cores;
use crate::comm::CommError;
use crate::exec::KernelError;
use crate::io::checkpoint::CheckpointError;
use crate::io::npy::NpyError;
use crate::io::output::{FileError, display_path};
use crate::memory::OutOfMemory;
use crate::plan::PlanError;
use crate::schedule::verify::VerifyError;
use crate::tree::ShapeError;

/// A rank, as shown in error messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rank {
    /// Its number in the world.
    pub number: usize,
    /// Its host's name; empty if the system provides none.
    pub host: String,
}

impl Rank {
    pub(super) fn here(number: usize) -> Rank {
        Rank { number, host: cores::name() }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rank { number, host } = self;
        if host.is_empty() { write!(f, "rank {number}") } else { write!(f, "rank {number} on {host}") }
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum Error {
    /// The text is no expression. [`ParseError::render`] shows the mistake.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The operands do not match the expression. [`ShapeError::render`] shows where.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// No plan satisfies the options.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A schedule is incorrect: a bug in this library.
    #[error("the schedule does not verify: {0}")]
    Verify(#[from] VerifyError),
    /// The plan prescribes a kernel that cannot run on this host.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A .npy file is missing or damaged, has the wrong element type, or must not be written.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// A file cannot be written, as found before any work.
    #[error(transparent)]
    File(#[from] FileError),
    /// Writing failed because the disk is full or no longer available.
    #[error("{rank}: {cause}")]
    Output { rank: Rank, cause: NpyError },
    /// A file is no checkpoint of this run. No file of the checkpoint was changed.
    #[error("{}: {why}; name another checkpoint, or remove this one to start from the beginning", display_path(path))]
    Checkpoint { path: PathBuf, why: CheckpointError },
    /// A flag stopped the run; its state is in a checkpoint. With groups of ranks, the numbers are the largest group's.
    #[error(
        "stopped after {finished} of {slices} slices, which are saved in {}; start again to continue",
        display_path(path)
    )]
    Stopped { path: PathBuf, finished: usize, slices: usize },
    /// A checkpoint cannot be written. Any earlier one remains.
    #[error("{rank}: {cause}; if there was a checkpoint before, it remains: start again to continue from there")]
    Save { rank: Rank, cause: FileError },
    /// Communication between ranks failed.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// An allocation failed.
    #[error("{rank}: {cause}")]
    Memory { rank: Rank, cause: OutOfMemory },
    /// A host has too little memory for its ranks.
    #[error("the host of rank {rank} needs {needed} bytes for its ranks, {} more than the {available} it has free", needed - available)]
    HostMemory { rank: usize, needed: u64, available: u64 },
    /// A process limit leaves its ranks too little memory.
    #[error("{rank} needs {needed} bytes, {} more than the {available} that {limit} leaves to its process", needed - available)]
    ProcessMemory { rank: Rank, needed: u64, available: u64, limit: &'static str },
    /// Threads cannot be started.
    #[error("{rank} cannot start {threads} threads: {message}")]
    Threads { rank: Rank, threads: usize, message: String },
    /// The arguments do not match the plan or the world.
    #[error("{0}")]
    Usage(String),
    /// One rank failed, so the run was stopped on all ranks.
    #[error("{rank}, {task}: {message}")]
    Run { rank: Rank, task: String, message: String },
    /// Another process failed and reported its error.
    #[error("{rank}: {message}")]
    Elsewhere { rank: Rank, input: bool, message: String },
}

impl Error {
    /// Whether the cause is wrong input or usage, not a failed run.
    pub fn is_input(&self) -> bool {
        match self {
            Error::Parse(_)
            | Error::Shape(_)
            | Error::Plan(_)
            | Error::Kernel(_)
            | Error::Npy(_)
            | Error::File(_)
            | Error::Checkpoint { .. }
            | Error::Usage(_)
            | Error::HostMemory { .. }
            | Error::ProcessMemory { .. } => true,
            Error::Elsewhere { input, .. } => *input,
            Error::Comm(CommError::Start(_)) => true,
            Error::Verify(_)
            | Error::Stopped { .. }
            | Error::Save { .. }
            | Error::Comm(_)
            | Error::Output { .. }
            | Error::Memory { .. }
            | Error::Threads { .. }
            | Error::Run { .. } => false,
        }
    }

    /// [`Error::Output`] if I/O failed, [`Error::Npy`] for a wrong request.
    pub(super) fn output(rank: usize, cause: NpyError) -> Error {
        match cause {
            NpyError::Io { .. } | NpyError::File(FileError::Io { .. }) => {
                Error::Output { rank: Rank::here(rank), cause }
            }
            cause => Error::Npy(cause),
        }
    }

    /// The message for other processes, which receive the rank separately.
    #[cfg(feature = "mpi")]
    pub(super) fn for_other_ranks(&self) -> String {
        let message = self.to_string();
        match self {
            Error::Output { rank, .. }
            | Error::Save { rank, .. }
            | Error::Memory { rank, .. }
            | Error::Threads { rank, .. }
            | Error::ProcessMemory { rank, .. }
            | Error::Run { rank, .. } => {
                let rest = message.strip_prefix(&rank.to_string()).unwrap_or(&message);
                rest.trim_start_matches([':', ',', ' ']).to_owned()
            }
            _ => message,
        }
    }
}

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;
