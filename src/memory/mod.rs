//! Buffers, and the only way to touch them: leases.
//!
//! A rank's buffers live in a [`Store`]: some own their memory ([`Aligned`]), some borrow an operand or an output of
//! the user for one run. Nothing else writes to them, and another process that reads some of them (`remote_view`) does
//! so under a lease. A task leases the boxes that it reads and writes. The ledger of the store refuses a lease that
//! would overlap a live one in a conflicting way, so a wrong schedule ends in an error and never in a data race,
//! whatever verified it before.
//!
//! Invariants: a lease keeps its store alive; a store whose memory is borrowed is dropped before the borrow ends
//! ([`Store::close`]). Buffers may share memory; a lease of one then excludes leases of the others. Deliberately
//! absent: any knowledge of tasks, ranks or labels.

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

// These live in `kernel`, because code below this module allocates and reports, too.
pub use crate::kernel::{ReportingAllocator, end_at_once, fallible, report_with, share_few_addresses};
// Code that reads memory of other processes prefetches it, but must not depend on kernels.
#[cfg(feature = "mpi")]
pub(crate) use crate::kernel::prefetch;
