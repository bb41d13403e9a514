//! Memory of one rank that others reach: by loads and stores on its node, or by one-sided calls from anywhere.
//!
//! Invariants: a window exists from the beginning to the end of an endpoint, in one epoch that every rank opens for all others; its bytes begin
//! as zeros. Making and freeing one is collective. Deliberately absent: windows of tensors, which come and go.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use ::mpi::ffi;

use super::Communicator;
use crate::comm::CommError;

/// A window, one segment of `bytes` bytes for each rank of a communicator.
#[derive(Debug)]
pub(super) struct Window {
    communicator: Communicator,
    raw: ffi::MPI_Win,
    own: NonNull<u8>,
    bytes: usize,
    abandoned: bool,
}

impl Window {
    /// Segments that all ranks of a node can load and store. Collective.
    ///
    /// # Errors
    /// MPI fails: most often as there is too little shared memory.
    pub(super) fn shared(node: &Communicator, bytes: usize) -> Result<Window, CommError> {
        Self::allocate(node, bytes, "MPI_Win_allocate_shared", |start, raw| {
            // SAFETY: the communicator is live, and its ranks share a node (`Node`); `start` and `raw` outlive the call.
            unsafe {
                ffi::MPI_Win_allocate_shared(bytes as ffi::MPI_Aint, 1, ffi::RSMPI_INFO_NULL, node.raw(), start, raw)
            }
        })
    }

    /// Segments that all ranks can get. Collective.
    ///
    /// # Errors
    /// MPI fails.
    pub(super) fn remote(communicator: &Communicator, bytes: usize) -> Result<Window, CommError> {
        Self::allocate(communicator, bytes, "MPI_Win_allocate", |start, raw| {
            // SAFETY: the communicator is live; `start` and `raw` outlive the call.
            unsafe {
                ffi::MPI_Win_allocate(bytes as ffi::MPI_Aint, 1, ffi::RSMPI_INFO_NULL, communicator.raw(), start, raw)
            }
        })
    }

    fn allocate(
        communicator: &Communicator,
        bytes: usize,
        name: &'static str,
        call: impl FnOnce(*mut c_void, *mut ffi::MPI_Win) -> c_int,
    ) -> Result<Window, CommError> {
        // SAFETY: reads a constant of the MPI library.
        let mut raw = unsafe { ffi::RSMPI_WIN_NULL };
        let mut start: *mut c_void = std::ptr::null_mut();
        communicator.session().call(name, || call((&raw mut start).cast(), &raw mut raw))?;
        let null = || CommError::Mpi { call: name, message: "it gave no memory".to_owned() };
        let own = NonNull::new(start.cast::<u8>()).ok_or_else(null)?;
        let window = Window { communicator: communicator.clone(), raw, own, bytes, abandoned: false };
        // SAFETY: the segment is ours and has so many bytes; the others wait for the barrier before they look at it.
        unsafe { own.as_ptr().write_bytes(0, bytes) };
        communicator.session().call("MPI_Win_lock_all", || {
            // SAFETY: the window is live and in no epoch.
            unsafe { ffi::MPI_Win_lock_all(ffi::MPI_MODE_NOCHECK as c_int, raw) }
        })?;
        window.sync()?;
        communicator.barrier()?;
        Ok(window)
    }

    /// The segment of this rank.
    pub(super) fn own(&self) -> NonNull<u8> {
        self.own
    }

    /// Where the segment of a rank of the node begins in this process; of a shared window.
    ///
    /// # Errors
    /// MPI fails.
    pub(super) fn segment(&self, rank: usize) -> Result<NonNull<u8>, CommError> {
        let (mut bytes, mut unit, mut start): (ffi::MPI_Aint, c_int, *mut c_void) = (0, 0, std::ptr::null_mut());
        self.communicator.session().call("MPI_Win_shared_query", || {
            // SAFETY: the window is live and shared; all three outlive the call.
            unsafe {
                let start = (&raw mut start).cast();
                ffi::MPI_Win_shared_query(self.raw, rank as c_int, &raw mut bytes, &raw mut unit, start)
            }
        })?;
        let whole = NonNull::new(start.cast::<u8>()).filter(|_| bytes as usize >= self.bytes);
        whole.ok_or_else(|| CommError::Mpi {
            call: "MPI_Win_shared_query",
            message: format!("the segment of rank {rank} is not all there"),
        })
    }

    /// What this rank has stored in its segment is there for others' calls, and the other way round.
    ///
    /// # Errors
    /// MPI fails.
    pub(super) fn sync(&self) -> Result<(), CommError> {
        // SAFETY: the window is live.
        self.communicator.session().call("MPI_Win_sync", || unsafe { ffi::MPI_Win_sync(self.raw) })
    }

    pub(super) fn raw(&self) -> ffi::MPI_Win {
        self.raw
    }

    /// Leaves the window as it is for ever: others may still use it.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if self.abandoned || std::thread::panicking() || ::mpi::environment::is_finalized() {
            return;
        }
        // A window that cannot be freed is lost; nobody could do better with the error.
        let session = self.communicator.session();
        // SAFETY: the epoch of `allocate` is open, and nothing uses the window afterwards.
        let _ = session.call("MPI_Win_unlock_all", || unsafe { ffi::MPI_Win_unlock_all(self.raw) });
        // SAFETY: the window is ours and in no epoch.
        let _ = session.call("MPI_Win_free", || unsafe { ffi::MPI_Win_free(&raw mut self.raw) });
    }
}
