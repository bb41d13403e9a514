//! Connects the processes of an MPI program.
//!
//! ```text
//! Mpi::init ---> Communicator::world ---> Endpoint::new        moves blocks, polled by the communication thread
//!   (finalise)        (abort)  \--------> agree, all_gather .. few bytes, between runs
//!
//! Endpoint    ranks of its node  ---> shared     slots in memory that all its ranks load and store (channel, bell)
//!             others             ---> messages   Isend and Irecv
//!             either             ---> rma        Rget from a window, if it is requested or found to be faster (probe)
//! ```
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
