//! Communicators of C and Fortran programs, for the library.

use std::ffi::c_int;

use einsum_dist::mpi::ffi::MPI_Comm;
use einsum_dist::mpi::raw::AsRaw;

use super::status::{Failure, Result};

/// A communicator that the caller owns.
pub struct Foreign(MPI_Comm);

impl Foreign {
    /// # Safety
    /// `comm` is null or points to a live communicator of this build's MPI library.
    pub unsafe fn at(comm: *const MPI_Comm) -> Result<Foreign> {
        // SAFETY: guaranteed by the caller.
        let comm = unsafe { comm.as_ref() };
        comm.map(|&comm| Foreign(comm)).ok_or_else(|| Failure::usage("comm is NULL"))
    }

    /// # Safety
    /// `comm` is a live communicator of this build's MPI library, as a Fortran integer.
    pub unsafe fn of_fortran(comm: c_int) -> Foreign {
        // SAFETY: guaranteed by the caller.
        Foreign(unsafe { einsum_dist::mpi::ffi::RSMPI_Comm_f2c(comm) })
    }
}

// SAFETY: returns the handle that was read from the caller.
unsafe impl AsRaw for Foreign {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0
    }
}
