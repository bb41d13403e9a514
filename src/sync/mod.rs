//! Locks, atomics and threads of the protocol between threads and ranks: those of std and rayon.
//!
//! In a test with `--cfg shuttle` they are Shuttle's (`shuttle_runtime`), which runs one thread at a time and chooses at every use of them which,
//! so that tests try thousands of orders of events (`api/shuttle_tests.rs`, `comm/mpi/shuttle_tests.rs`). There no sleep ends by itself, a pool
//! has one worker, and memory is sequentially consistent: a fence that is missing is not found.
//!
//! Invariant: what `memory`, `comm`, `exec` and the start of ranks wait for or share has its name from here. Deliberately absent: locks
//! that no two threads reach for at a time, counters, and the list of segments (`memory/segment.rs`), whose lock threads do share, but
//! wait for nobody while they hold it: these stay std's.

#[cfg(feature = "mpi")]
pub mod futex;
#[cfg(all(test, shuttle))]
mod shuttle_runtime;

#[cfg(not(all(test, shuttle)))]
pub use {
    rayon::{Scope, ThreadPool, ThreadPoolBuilder},
    std::sync::{Condvar, Mutex, MutexGuard, atomic},
    std::thread,
};

#[cfg(all(test, shuttle))]
pub use {
    shuttle::sync::{Condvar, Mutex, MutexGuard, atomic},
    shuttle_runtime::{Scope, ThreadPool, ThreadPoolBuilder, explore, thread},
};
