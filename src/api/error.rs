//! Every way in which a call of the library can fail.

use einsum_parser::ParseError;

use crate::comm::CommError;
use crate::exec::KernelError;
use crate::io::npy::NpyError;
use crate::memory::OutOfMemory;
use crate::plan::PlanError;
use crate::schedule::verify::VerifyError;
use crate::tree::ShapeError;

/// A failed call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum Error {
    /// The text is no expression. [`ParseError::render`] shows the place.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The operands do not fit the expression. [`ShapeError::render`] shows the places.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// There is no plan of what was asked for.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A schedule that is wrong: a bug of the engine.
    #[error("the schedule does not verify: {0}")]
    Verify(#[from] VerifyError),
    /// The kernel that the plan forces cannot run.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A .npy file that is missing, damaged, of another type, or cannot be written.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// Ranks cannot talk to each other.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// An allocation failed on this rank.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// A host has too little memory for its ranks.
    #[error("the host of rank {rank} needs {needed} bytes for its ranks, {} more than the {available} it has free", needed - available)]
    HostMemory { rank: usize, needed: u64, available: u64 },
    /// The call does not fit the plan or the world.
    #[error("{0}")]
    Usage(String),
    /// A run that ended on all ranks because one of them failed.
    #[error("rank {rank}, {task}: {message}")]
    Run { rank: usize, task: String, message: String },
    /// Another process failed, which this one only heard of.
    #[error("rank {rank}: {message}")]
    Elsewhere { rank: usize, input: bool, message: String },
}

impl Error {
    /// Bad input or usage, as opposed to a run that failed.
    pub fn is_input(&self) -> bool {
        match self {
            Error::Parse(_)
            | Error::Shape(_)
            | Error::Plan(_)
            | Error::Kernel(_)
            | Error::Npy(_)
            | Error::Usage(_)
            | Error::HostMemory { .. } => true,
            Error::Elsewhere { input, .. } => *input,
            Error::Comm(CommError::Start(_)) => true,
            Error::Verify(_) | Error::Comm(_) | Error::Memory(_) | Error::Run { .. } => false,
        }
    }
}

/// What calls of the library return.
pub type Result<T> = std::result::Result<T, Error>;
