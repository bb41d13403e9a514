//! The MPI requests in flight, each for a piece of a transfer, tested by a single call.
//!
//! Invariants: `handles` and `pieces` have the same order, and all handles are active. The caller keeps the memory in
//! place until the piece is finished, possibly forever.

use std::ffi::c_int;

use ::mpi::ffi;

use super::Communicator;
use super::collective::byte;
use super::session::error_string;
use super::window::Window;
use crate::comm::CommError;

#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub transfer: u64,
    /// In the transfer's bytes or, for a get, in the peer's window.
    pub offset: usize,
    pub bytes: usize,
    pub tag: c_int,
}

#[derive(Debug)]
pub(super) struct Finished {
    pub piece: Piece,
    /// The tag of the received message; otherwise the piece's own.
    pub tag: c_int,
    /// The bytes received; otherwise the piece's own size.
    pub bytes: u64,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Arrived,
    /// The message is longer than expected; MPICH does not report its length.
    Truncated,
    Failed(String),
}

#[derive(Debug, Default)]
pub(super) struct Requests {
    handles: Vec<ffi::MPI_Request>,
    pieces: Vec<(Piece, Direction)>,
    /// Kept to avoid allocations.
    indices: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// A send or a get, whose status is empty.
    Out,
    /// A receive, whose status has the message's tag and length.
    In,
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// # Safety
    /// The bytes stay in place and unchanged until the piece is finished.
    pub(super) unsafe fn send(
        &mut self,
        communicator: &Communicator,
        peer: usize,
        piece: Piece,
        from: *const u8,
    ) -> Result<(), CommError> {
        let (bytes, peer, raw) = (piece.bytes as c_int, peer as c_int, communicator.raw());
        self.post(communicator, "MPI_Isend", piece, Direction::Out, |request| {
            // SAFETY: the bytes stay in place (the caller's contract), a piece has at most 1 GiB, and the communicator
            // is live.
            unsafe { ffi::MPI_Isend(from.cast(), bytes, byte(), peer, piece.tag, raw, request) }
        })
    }

    /// Receives the next message from `peer`, with any tag.
    ///
    /// # Safety
    /// The bytes stay in place, and nothing else accesses them, until the piece is finished.
    pub(super) unsafe fn recv(
        &mut self,
        communicator: &Communicator,
        peer: usize,
        piece: Piece,
        into: *mut u8,
    ) -> Result<(), CommError> {
        let (bytes, peer, raw) = (piece.bytes as c_int, peer as c_int, communicator.raw());
        self.post(communicator, "MPI_Irecv", piece, Direction::In, |request| {
            // SAFETY: the bytes stay in place (the caller's contract), a piece has at most 1 GiB, and the communicator
            // is live.
            unsafe { ffi::MPI_Irecv(into.cast(), bytes, byte(), peer, ffi::RSMPI_ANY_TAG, raw, request) }
        })
    }

    /// Starts a get of a piece, from byte `offset` of `peer`'s window.
    ///
    /// # Safety
    /// The same as for [`Requests::recv`]. In addition, the piece is inside the window, and the window's owner does not
    /// change it until the piece is finished.
    pub(super) unsafe fn get(
        &mut self,
        communicator: &Communicator,
        window: &Window,
        peer: usize,
        piece: Piece,
        into: *mut u8,
    ) -> Result<(), CommError> {
        let (bytes, peer, from) = (piece.bytes as c_int, peer as c_int, piece.offset as ffi::MPI_Aint);
        self.post(communicator, "MPI_Rget", piece, Direction::Out, |request| {
            // SAFETY: the bytes stay in place (the caller's contract), a piece has at most 1 GiB, and the window is
            // live and in an epoch for all ranks.
            unsafe { ffi::MPI_Rget(into.cast(), bytes, byte(), peer, from, bytes, byte(), window.raw(), request) }
        })
    }

    fn post(
        &mut self,
        communicator: &Communicator,
        name: &'static str,
        piece: Piece,
        direction: Direction,
        start: impl FnOnce(*mut ffi::MPI_Request) -> c_int,
    ) -> Result<(), CommError> {
        // SAFETY: reads a constant of the MPI library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        communicator.session().call(name, || start(&raw mut request))?;
        self.handles.push(request);
        self.pieces.push((piece, direction));
        Ok(())
    }

    pub(super) fn take_finished(&mut self, communicator: &Communicator) -> Result<Vec<Finished>, CommError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let active = self.handles.len();
        self.indices.resize(active, 0);
        // SAFETY: in Open MPI and MPICH, a status consists of integers, for which zero is a valid value.
        self.statuses.resize(active, unsafe { std::mem::zeroed() });
        let (mut ended, mut in_status): (c_int, bool) = (0, false);
        let (handles, indices) = (self.handles.as_mut_ptr(), self.indices.as_mut_ptr());
        let statuses = self.statuses.as_mut_ptr();
        communicator.session().call("MPI_Testsome", || {
            // SAFETY: the three arrays have `active` entries and outlive the call.
            let code = unsafe { ffi::MPI_Testsome(active as c_int, handles, &raw mut ended, indices, statuses) };
            in_status = code == ffi::MPI_ERR_IN_STATUS as c_int;
            if in_status { 0 } else { code }
        })?;
        // Without active requests, `ended` is MPI_UNDEFINED, which is negative.
        let ended = usize::try_from(ended).unwrap_or(0);
        let end = |(&at, status): (&c_int, &ffi::MPI_Status)| {
            let (piece, direction) = self.pieces[at as usize];
            let outcome = if in_status { outcome(status.MPI_ERROR) } else { Outcome::Arrived };
            let (tag, bytes) = match direction {
                Direction::Out => (piece.tag, piece.bytes as u64),
                Direction::In => (status.MPI_TAG, received(communicator, status)?),
            };
            Ok(Finished { piece, tag, bytes, outcome })
        };
        let finished = self.indices[..ended].iter().zip(&self.statuses).map(end).collect();
        let indices = &mut self.indices[..ended];
        indices.sort_unstable_by(|a, b| b.cmp(a));
        for &mut at in indices {
            self.handles.swap_remove(at as usize);
            self.pieces.swap_remove(at as usize);
        }
        finished
    }
}

fn received(communicator: &Communicator, status: &ffi::MPI_Status) -> Result<u64, CommError> {
    let mut count: ffi::MPI_Count = 0;
    communicator.session().call("MPI_Get_elements_x", || {
        // SAFETY: the status is that of a finished receive, whose datatype is bytes; `count` outlives the call.
        unsafe { ffi::MPI_Get_elements_x(status, byte(), &raw mut count) }
    })?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn outcome(code: c_int) -> Outcome {
    if code == 0 {
        return Outcome::Arrived;
    }
    let mut class = 0;
    // SAFETY: MPI is initialised while a communicator lives; `class` outlives the call.
    unsafe { ffi::MPI_Error_class(code, &raw mut class) };
    if class == ffi::MPI_ERR_TRUNCATE as c_int { Outcome::Truncated } else { Outcome::Failed(error_string(code)) }
}
