//! What can go wrong while bytes move.

/// A failed transfer or collective call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommError {
    /// The two ends disagree about a transfer: a bug of the schedule.
    #[error("a transfer from rank {from} to rank {to} has {sent} bytes at its source and {expected} at its target")]
    Size { from: usize, to: usize, sent: u64, expected: u64 },
    /// As [`CommError::Size`], where the source has more and its target cannot see how much.
    #[error("a transfer from rank {from} to rank {to} has more than the {expected} bytes that its target expects")]
    Longer { from: usize, to: usize, expected: u64 },
    /// MPI cannot be started here, or not be used from here.
    #[error("cannot use MPI: {0}")]
    Start(String),
    /// An MPI function returned an error.
    #[error("{call} failed: {message}")]
    Mpi { call: &'static str, message: String },
    /// Another rank ended the run.
    #[error("rank {rank} failed: {message}")]
    Peer { rank: usize, message: String },
    /// The ranks of a node cannot have memory in common.
    #[error("no memory can be shared between processes: {0}")]
    NoSharedMemory(String),
    /// A buffer for packing could not be had.
    #[error(transparent)]
    Memory(#[from] crate::memory::OutOfMemory),
}
