//! MPI windows for loads and stores, or for one-sided calls.
//!
//! Invariants: A window exists on all ranks or on none. Until `close`, every rank has one access epoch open to all. The
//! initial content is arbitrary. A dropped window stays allocated, because freeing it would wait for all ranks.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use ::mpi::ffi;

use super::Communicator;
use crate::comm::CommError;

#[derive(Debug)]
pub(super) struct Window {
    communicator: Communicator,
    raw: ffi::MPI_Win,
    own: NonNull<u8>,
    bytes: usize,
}

/// The directory of MPI's shared memory; SIGBUS kills a program that exceeds its space.
#[cfg(target_os = "linux")]
const SHM_DIRECTORY: &str = "/dev/shm";
/// Bytes per rank left free there for MPI itself.
#[cfg(target_os = "linux")]
const SPARE_BYTES: u64 = 1 << 20;

/// Checks that this node has room for `bytes` bytes per rank, if its free space is known. Two runs that start together
/// can still be killed by SIGBUS.
#[cfg(target_os = "linux")]
pub(super) fn check_space(ranks: usize, bytes: usize) -> Result<(), String> {
    let Some(place) = rustix::fs::statvfs(SHM_DIRECTORY).ok().filter(|place| place.f_blocks > 0) else { return Ok(()) };
    let (free, needed) = (place.f_bavail * place.f_frsize, ranks as u64 * (bytes as u64 + SPARE_BYTES));
    // A single rank's window is private memory.
    match bytes == 0 || ranks < 2 || needed <= free {
        true => Ok(()),
        false => Err(format!("{ranks} ranks need {needed} bytes in {SHM_DIRECTORY}, which has {free}")),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn check_space(_: usize, _: usize) -> Result<(), String> {
    Ok(())
}

impl Window {
    /// For loads and stores on a node. Collective.
    ///
    /// # Errors
    /// If MPI fails on any rank, mostly for lack of shared memory.
    pub(super) fn shared(node: &Communicator, bytes: usize) -> Result<Window, CommError> {
        Self::allocate(node, bytes, "MPI_Win_allocate_shared", |start, raw| {
            // SAFETY: the communicator is live, and its ranks share a node (`Node`); `start` and `raw` outlive the
            // call.
            unsafe {
                ffi::MPI_Win_allocate_shared(bytes as ffi::MPI_Aint, 1, ffi::RSMPI_INFO_NULL, node.raw(), start, raw)
            }
        })
    }

    /// For one-sided calls. Collective.
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
        let made = || {
            // SAFETY: reads constants of the MPI library.
            let (mut raw, errors_return) = unsafe { (ffi::RSMPI_WIN_NULL, ffi::RSMPI_ERRORS_RETURN) };
            let mut start: *mut c_void = std::ptr::null_mut();
            let session = communicator.session();
            session.call(name, || call((&raw mut start).cast(), &raw mut raw))?;
            session.call("MPI_Win_set_errhandler", || {
                // SAFETY: the window has just been created.
                unsafe { ffi::MPI_Win_set_errhandler(raw, errors_return) }
            })?;
            let null = || CommError::Mpi { call: name, message: "it gave no memory".to_owned() };
            let own = NonNull::new(start.cast::<u8>()).ok_or_else(null)?;
            session.call("MPI_Win_lock_all", || {
                // SAFETY: the window is live and in no epoch.
                unsafe { ffi::MPI_Win_lock_all(ffi::MPI_MODE_NOCHECK as c_int, raw) }
            })?;
            Ok::<_, CommError>(Window { communicator: communicator.clone(), raw, own, bytes })
        };
        communicator.agree_on_memory(made())
    }

    pub(super) fn own(&self) -> NonNull<u8> {
        self.own
    }

    pub(super) fn segment(&self, rank: usize) -> Result<NonNull<u8>, CommError> {
        let (mut bytes, mut unit, mut start): (ffi::MPI_Aint, c_int, *mut c_void) = (0, 0, std::ptr::null_mut());
        self.communicator.session().call("MPI_Win_shared_query", || {
            // SAFETY: the window is live and shared; all three outputs outlive the call.
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

    /// Makes stores visible between this rank's segment and one-sided calls, both ways.
    pub(super) fn sync(&self) -> Result<(), CommError> {
        // SAFETY: the window is live.
        self.communicator.session().call("MPI_Win_sync", || unsafe { ffi::MPI_Win_sync(self.raw) })
    }

    pub(super) fn raw(&self) -> ffi::MPI_Win {
        self.raw
    }

    /// No rank may use the window any more. Collective.
    pub(super) fn close(mut self) -> Result<(), CommError> {
        let session = self.communicator.session();
        // SAFETY: the epoch that `allocate` opened is still open.
        session.call("MPI_Win_unlock_all", || unsafe { ffi::MPI_Win_unlock_all(self.raw) })?;
        // SAFETY: this rank owns the window, which is in no epoch and is not used afterwards.
        session.call("MPI_Win_free", || unsafe { ffi::MPI_Win_free(&raw mut self.raw) })
    }
}

#[cfg(test)]
mod tests;
