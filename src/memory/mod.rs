//! Buffers, which only leases can access.
//!
//! A rank's buffers are in a [`Store`], and own their memory ([`Aligned`]) or borrow the user's for one run. A task
//! leases the boxes (one range per dimension) that it accesses. The store's ledger (live leases) refuses conflicts, so
//! a wrong schedule is an error, never a data race.
//!
//! Invariants: a lease keeps its store alive. A store that borrows memory is closed before the borrow ends
//! ([`Store::close`]). Leases on buffers that share memory conflict, unless all only read.

mod aligned;
mod array;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "no other process reads what is written"))]
mod copy;
mod lease;
mod owned;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "no other process lends anything"))]
mod segment;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod store;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "no other process lends anything"))]
mod stream;
mod strided;

pub use aligned::{Aligned, Footprint, OutOfMemory};
pub use array::{Array, Lent, bytes_of, bytes_of_mut};
pub use copy::StoreKind;
pub use lease::{ReadLease, WriteLease};
pub use owned::{copy_of, probe, room_for, zero_array, zeros};
pub use segment::{Mapping, SegmentHandle, WantedSegments, machine_bytes};
pub use store::{LeaseError, Slot, Store};
pub use stream::{ExportedView, Incoming, Outgoing, Remote, RemoteReader};
pub use strided::Strided;

// `kernel` needs these too, and must not import this module.
pub use crate::kernel::{ReportingAllocator, end_at_once, fallible, report_with, share_few_addresses};
// `comm` needs this, and must not import `kernel`.
#[cfg(feature = "mpi")]
pub(crate) use crate::kernel::prefetch;
