//! Ranks that are processes of an MPI program.
//!
//! ```text
//! Mpi::init ---> Communicator::world ---> Endpoint::new        moves blocks, polled by the communication thread
//!   (finalise)        (abort)  \--------> agree, all_gather .. few bytes, between runs
//!
//! Endpoint    ranks of its node  ---> shared     slots in memory that all of the node load and store (channel, bell)
//!             others             ---> messages   Isend and Irecv
//!             either             ---> rma        Rget out of a window, where it is asked for or found to be quicker (probe)
//! ```
//!
//! Everything here belongs to the thread that called [`Mpi::init`]: no type is `Send`, but for what wakes that thread.
//!
//! Invariants: every return code is checked; where blocks go by messages, nothing else does: whoever counts messages counts
//! blocks. Deliberately absent: derived datatypes, requests that outlive an endpoint.

mod bell;
mod channel;
mod collective;
mod communicator;
mod endpoint;
mod lending;
mod messages;
mod node;
mod packing;
mod pause;
mod probe;
mod requests;
mod rma;
mod route;
mod session;
mod shared;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod window;

pub(super) use bell::Bell;
pub use collective::{Failure, Number, Reduce};
pub use communicator::Communicator;
pub use endpoint::{Details, Endpoint};
pub use route::{Route, Routes};
pub use session::Mpi;
