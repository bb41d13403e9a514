//! Defines the errors of transfers and collective calls.

/// A failed transfer or collective call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum CommError {
    /// The two ends disagree about the size of a transfer, which is a bug in the schedule.
    #[error("a transfer from rank {from} to rank {to} has {sent} bytes at its source and {expected} at its target")]
    Size { from: usize, to: usize, sent: u64, expected: u64 },
    /// The source has more bytes than the target expects; the target cannot determine how many.
    #[error("a transfer from rank {from} to rank {to} has more than the {expected} bytes that its target expects")]
    Longer { from: usize, to: usize, expected: u64 },
    /// MPI cannot be started, or cannot be used as requested.
    #[error("cannot use MPI: {0}")]
    Start(String),
    /// An MPI function failed.
    #[error("{call} failed: {message}")]
    Mpi { call: &'static str, message: String },
    /// Another rank failed and stopped the run.
    #[error("rank {rank} failed: {message}")]
    Peer { rank: usize, message: String },
    /// The ranks of a node cannot share memory.
    #[error("no memory can be shared between processes: {0}")]
    NoSharedMemory(String),
    /// A packing buffer could not be allocated.
    #[error(transparent)]
    Memory(#[from] crate::memory::OutOfMemory),
}
