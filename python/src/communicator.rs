//! A communicator of mpi4py, for the library.

use einsum_dist::mpi::ffi::MPI_Comm;
use einsum_dist::mpi::raw::AsRaw;

/// A communicator that another library owns.
pub struct Foreign(MPI_Comm);

impl Foreign {
    /// Reads the handle at an address that mpi4py's `_addressof` returned.
    ///
    /// # Safety
    /// The communicator is alive, and mpi4py uses the same MPI library as this build, so the handle has this type.
    pub unsafe fn at(address: usize) -> Foreign {
        // SAFETY: guaranteed by the caller; mpi4py stores the handle at this address as long as the object lives.
        Foreign(unsafe { *(address as *const MPI_Comm) })
    }
}

// SAFETY: returns the handle that was read from mpi4py.
unsafe impl AsRaw for Foreign {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0
    }
}
