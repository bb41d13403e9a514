//! Connects the processes of an MPI program.
//!
//! An [`Endpoint`] reaches the ranks of its node through shared memory, and others by messages; both by one-sided
//! calls, if they are requested or found to be faster (`probe`). A [`Communicator`] exchanges few bytes between runs.
//!
//! All types belong to the thread that called [`Mpi::init`], except those that wake it.
//!
//! Invariants: every return code is checked. The only point-to-point messages are blocks.

mod box_descriptions;
mod channel;
mod collective;
mod communicator;
mod endpoint;
mod messages;
mod node;
mod packing;
mod pause;
mod probe;
mod requests;
mod rma;
mod session;
mod shared_memory;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod window;

pub use collective::{Failure, Number, Reduce};
pub use communicator::Communicator;
pub use endpoint::{Endpoint, EndpointOptions, Route, Routes};
pub use session::{Mpi, family, library_version};
