//! Locks, atomics and threads for the protocols between threads and ranks: those of std and rayon.
//!
//! In a test with `--cfg shuttle` they are Shuttle's (`shuttle_runtime`). Shuttle runs one thread at a time and chooses
//! the next one at every use of them, so that tests try thousands of interleavings (`api/shuttle_tests.rs`,
//! `comm/mpi/shuttle_tests.rs`). There no sleep ends by timeout, a pool has one worker, and memory is sequentially
//! consistent: a missing fence is not found.
//!
//! Invariant: `memory`, `comm`, `exec` and the start of ranks import from here everything that they wait for or share.
//! Deliberately absent: locks without contention, counters, and the list of segments (`memory/segment.rs`), whose lock
//! threads do share, but without blocking while they hold it: these stay std's.

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
