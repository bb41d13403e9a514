//! Provides locks, atomics and threads for the protocols between threads and ranks. Outside of tests, std and rayon
//! implement these primitives.
//!
//! In tests with `--cfg shuttle`, Shuttle implements them (`shuttle_runtime`). Shuttle runs one thread at a time and
//! chooses the next thread at every use of a lock, an atomic or a thread, so that tests explore thousands of
//! interleavings (`api/shuttle_tests.rs`, `comm/mpi/shuttle_tests.rs`). Under Shuttle, no sleep ends by timeout, a pool
//! has one worker, and memory is sequentially consistent, so a missing fence is not detected.
//!
//! Invariant: `memory`, `comm`, `exec` and the code that starts ranks import from this module every primitive that
//! threads share or wait for. Exceptions are locks without contention, counters, and the lock of the list of segments
//! (`memory/segment.rs`), under which no thread blocks. These are used directly from std.

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
