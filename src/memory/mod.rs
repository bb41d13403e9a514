//! Stores buffers, and grants access to them through leases only.
//!
//! The buffers of a rank are in a [`Store`]. Some buffers own their memory ([`Aligned`]); others borrow the user's
//! operand or output for one run. A task leases the boxes (one range per dimension of a buffer) that it reads and
//! writes. While another process reads a box in place (`remote_view`), the owner of the box holds a lease on it. The
//! ledger of the store (its list of live leases) refuses a lease that conflicts with a live lease. A wrong schedule
//! therefore causes an error, never a data race, even if the schedule has passed verification.
//!
//! Invariants: a lease keeps its store alive. A store that borrows memory is closed before the borrow ends
//! ([`Store::close`]). If buffers share memory, a lease on one of these buffers conflicts with leases on the others,
//! unless all of these leases only read.

mod aligned;
mod array;
mod bytes;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "no other process reads what is written"))]
mod copy;
mod footprint;
mod lease;
mod located;
mod owned;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "no other process lends anything"))]
mod remote_view;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "no other process lends anything"))]
mod segment;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod store;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "no other process lends anything"))]
mod stream;
mod strided;

pub use aligned::{Aligned, OutOfMemory};
pub use array::Array;
pub use bytes::{bytes_of, bytes_of_mut};
pub use copy::StoreKind;
pub use footprint::Footprint;
pub use lease::{ReadLease, WriteLease};
pub use owned::{copy_of, probe, room_for, zero_array, zeros};
pub use remote_view::{ExportedView, Remote};
pub use segment::{Mapping, SegmentHandle, WantedSegments, machine_bytes};
pub use store::{LeaseError, Slot, Store};
pub use stream::{Incoming, Outgoing, RemoteReader};
pub use strided::Strided;

// These items are defined in `kernel`, because kernels also allocate memory and report errors, and `kernel` must not
// import this module.
pub use crate::kernel::{ReportingAllocator, end_at_once, fallible, report_with, share_few_addresses};
// `comm` uses this re-export to prefetch memory of other processes, because it must not import `kernel`.
#[cfg(feature = "mpi")]
pub(crate) use crate::kernel::prefetch;
