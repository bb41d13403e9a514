//! Ranks that are processes of an MPI program.
//!
//! ```text
//! Mpi::init ---> Communicator::world ---> Endpoint::new        moves blocks, polled by the communication thread
//!   (finalise)        (abort)  \--------> agree, all_gather .. few bytes, between runs
//! ```
//!
//! Everything here belongs to the thread that called [`Mpi::init`]: no type is `Send`.
//!
//! Invariants: every return code is checked; blocks go by point-to-point messages and everything else by collective
//! calls, so whoever counts messages counts blocks. Deliberately absent: one-sided communication, shared windows,
//! derived datatypes, requests that outlive an endpoint.

mod collective;
mod communicator;
mod endpoint;
mod packing;
mod pause;
mod requests;
mod session;

pub use collective::{Failure, Number, Reduce};
pub use communicator::Communicator;
pub use endpoint::Endpoint;
pub use session::Mpi;
