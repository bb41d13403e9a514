//! Moves boxes (strided blocks of buffers) between ranks, and lets all ranks agree on a value (`docs/transports.md`).
//!
//! An [`Endpoint`] belongs to the communication thread of one rank. Sends match receives only by the order in which
//! both ranks post them. Both lists of boxes have the same size in bytes.
//!
//! Invariants: every transfer completes at both ends, which count its bytes, or the run fails; a transfer of 0 bytes is
//! never posted. Failed transfers are not retried.

#[cfg(feature = "mpi")]
mod bell;
pub mod ignored_signals;
pub mod in_process;
pub mod launcher;
#[cfg(feature = "mpi")]
pub mod mpi;
mod waker;

pub use waker::Waker;

use std::str::FromStr;
use std::time::Duration;

use crate::memory::{ReadLease, WriteLease};

/// A transport between processes, which a user can choose by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// The fastest in a short measurement, within nodes and between nodes separately.
    #[default]
    Auto,
    /// Memory that the processes of a node share, and messages between nodes.
    Shared,
    /// MPI messages.
    Message,
    /// One-sided calls.
    Rma,
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Transport, String> {
        match text {
            "auto" => Ok(Transport::Auto),
            "shared" => Ok(Transport::Shared),
            "message" => Ok(Transport::Message),
            "rma" => Ok(Transport::Rma),
            _ => Err(format!("unknown transport `{text}` (known: auto, shared, message, rma)")),
        }
    }
}

/// A finished transfer, and the `bytes` that this end moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub ticket: usize,
    pub bytes: u64,
}

pub enum Endpoint {
    InProcess(in_process::Endpoint),
    #[cfg(feature = "mpi")]
    Mpi(Box<mpi::Endpoint>),
}

macro_rules! each {
    ($self:expr, $end:ident => $body:expr) => {
        match $self {
            Endpoint::InProcess($end) => $body,
            #[cfg(feature = "mpi")]
            Endpoint::Mpi($end) => $body,
        }
    };
}

impl Endpoint {
    /// Frees windows, unlike dropping an endpoint. Collective if ranks are processes.
    pub fn close(self) -> Result<(), CommError> {
        match self {
            Endpoint::InProcess(_) => Ok(()),
            #[cfg(feature = "mpi")]
            Endpoint::Mpi(end) => end.close(),
        }
    }

    /// Starts sending the boxes `from`, in sequence, to rank `peer`. Fails if the transport refuses.
    pub fn send(&mut self, ticket: usize, peer: usize, from: Vec<ReadLease>) -> Result<(), CommError> {
        each!(self, end => end.send(ticket, peer, from))
    }

    /// Starts receiving from rank `peer` into the boxes `into`, in sequence. Fails if the transport refuses.
    pub fn recv(&mut self, ticket: usize, peer: usize, into: Vec<WriteLease>) -> Result<(), CommError> {
        each!(self, end => end.recv(ticket, peer, into))
    }

    /// Makes progress, appends finished transfers to `done`, and returns whether it made any; never blocks.
    ///
    /// # Errors
    /// If a transfer fails, its sizes differ at the two ends, or a peer has stopped the run.
    pub fn poll(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        each!(self, end => end.poll(done))
    }

    /// Sleeps until an event may have occurred, or for `longest`. `in_flight`: this rank has transfers; `computing`:
    /// its workers are busy.
    pub fn idle(&mut self, in_flight: bool, computing: bool, longest: Duration) {
        each!(self, end => end.idle(in_flight, computing, longest))
    }

    /// Sets whether the calling thread has its own core, and should not sleep during transfers.
    pub fn spin(&mut self, spin: bool) {
        match self {
            // Every event wakes the thread.
            Endpoint::InProcess(_) => {}
            #[cfg(feature = "mpi")]
            Endpoint::Mpi(end) => end.spin(spin),
        }
        #[cfg(not(feature = "mpi"))]
        let _ = spin;
    }

    /// The waker for [`Endpoint::idle`].
    pub fn waker(&self) -> Waker {
        each!(self, end => end.waker())
    }

    /// Peak bytes allocated to pack boxes.
    pub fn packing_bytes(&self) -> usize {
        each!(self, end => end.packing_bytes())
    }
}

/// A failed transfer or collective call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum CommError {
    /// The two ends disagree about a size: a bug in the schedule.
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
