//! Memory that ranks share: a file that a node's ranks map, or an MPI window for one-sided calls.
//!
//! Invariants: Both exist on all ranks or on none. Until a window's `close`, every rank has one access epoch open to
//! all. Its initial content is arbitrary. A dropped window stays allocated, because freeing it would wait for all ranks.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::NonNull;

use ::mpi::ffi;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::Communicator;
use super::node::{Node, SHM_DIRECTORY};
use crate::comm::CommError;

#[derive(Debug)]
pub(super) struct Window {
    communicator: Communicator,
    raw: ffi::MPI_Win,
    own: NonNull<u8>,
}

/// Bytes per rank left free there for MPI itself.
#[cfg(target_os = "linux")]
const SPARE_BYTES: u64 = 1 << 20;

/// Checks that this node has room for `bytes` bytes per rank, if its free space is known. Two runs that start together
/// can still be killed by SIGBUS.
#[cfg(target_os = "linux")]
pub(super) fn check_space(ranks: usize, bytes: usize) -> Result<(), String> {
    let Some(place) = rustix::fs::statvfs(SHM_DIRECTORY).ok().filter(|place| place.f_blocks > 0) else { return Ok(()) };
    let (free, needed) = (place.f_bavail * place.f_frsize, ranks as u64 * (bytes as u64 + SPARE_BYTES));
    // A single rank's memory is private.
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
    /// For one-sided calls. Collective.
    ///
    /// # Errors
    /// If MPI fails on any rank, mostly for lack of shared memory.
    pub(super) fn remote(communicator: &Communicator, bytes: usize) -> Result<Window, CommError> {
        let made = || {
            // SAFETY: reads constants of the MPI library.
            let (mut raw, errors_return) = unsafe { (ffi::RSMPI_WIN_NULL, ffi::RSMPI_ERRORS_RETURN) };
            let mut start: *mut c_void = std::ptr::null_mut();
            let (session, name, size) = (communicator.session(), "MPI_Win_allocate", bytes as ffi::MPI_Aint);
            session.call(name, || {
                let start = (&raw mut start).cast();
                // SAFETY: the communicator is live; `start` and `raw` outlive the call.
                unsafe { ffi::MPI_Win_allocate(size, 1, ffi::RSMPI_INFO_NULL, communicator.raw(), start, &raw mut raw) }
            })?;
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
            Ok::<_, CommError>(Window { communicator: communicator.clone(), raw, own })
        };
        communicator.agree_on_memory(made())
    }

    pub(super) fn own(&self) -> NonNull<u8> {
        self.own
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
        // SAFETY: the epoch that `remote` opened is still open.
        session.call("MPI_Win_unlock_all", || unsafe { ffi::MPI_Win_unlock_all(self.raw) })?;
        // SAFETY: this rank owns the window, which is in no epoch and is not used afterwards.
        session.call("MPI_Win_free", || unsafe { ffi::MPI_Win_free(&raw mut self.raw) })
    }
}

/// For loads and stores on a node: a segment per rank, initially zero (`docs/decisions.md`).
#[derive(Debug)]
pub(super) struct NodeMemory {
    start: NonNull<u8>,
    segment_bytes: usize,
    ranks: usize,
}

impl NodeMemory {
    /// Collective over the world.
    ///
    /// # Errors
    /// If MPI fails, or the ranks of any node cannot share a file.
    pub(super) fn new(world: &Communicator, node: &Node, segment_bytes: usize) -> Result<NodeMemory, CommError> {
        let map = |path: &str, new| Self::map(path, segment_bytes, node.ranks, new);
        let path = format!("{SHM_DIRECTORY}/einsum-dist-{:x}", RandomState::new().build_hasher().finish());
        let made = (node.number == 0).then(|| map(&path, true));
        let first = node.members.iter().position(|number| *number == Some(0)).unwrap_or(0);
        let memory = world.all_gather_bytes(path.as_bytes()).and_then(|paths| {
            world.agree_on_memory(made.unwrap_or_else(|| map(&String::from_utf8_lossy(&paths[first]), false)))
        });
        let _ = std::fs::remove_file(path);
        memory
    }

    fn map(path: &str, segment_bytes: usize, ranks: usize, new: bool) -> std::io::Result<NodeMemory> {
        let (bytes, access, anywhere) =
            (segment_bytes * ranks, ProtFlags::READ | ProtFlags::WRITE, std::ptr::null_mut());
        let start = if ranks == 1 {
            // SAFETY: a new mapping, at an address that the system chooses.
            unsafe { mmap_anonymous(anywhere, bytes, access, MapFlags::PRIVATE) }?
        } else {
            let file = File::options().read(true).write(true).create_new(new).mode(0o600).open(path)?;
            if new {
                file.set_len(bytes as u64)?;
            }
            // SAFETY: as above, of a file of `bytes` bytes.
            unsafe { mmap(anywhere, bytes, access, MapFlags::SHARED, &file, 0) }?
        };
        let start = NonNull::new(start.cast()).ok_or_else(|| std::io::Error::other("mapped at 0"))?;
        Ok(NodeMemory { start, segment_bytes, ranks })
    }

    pub(super) fn segment(&self, number: usize) -> NonNull<u8> {
        assert!(number < self.ranks, "the node has no rank {number}");
        // SAFETY: the mapping has a segment for each rank.
        unsafe { self.start.add(number * self.segment_bytes) }
    }
}

impl Drop for NodeMemory {
    fn drop(&mut self) {
        // SAFETY: `map` mapped these bytes, and nothing in this process uses them any more; others have their own mappings.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.ranks * self.segment_bytes) };
    }
}

#[cfg(test)]
mod tests;
