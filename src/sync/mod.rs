//! Provides locks, atomics and threads for code in which threads or ranks wait for each other. Outside of tests, std
//! and rayon implement these primitives.
//!
//! In tests with `--cfg shuttle`, Shuttle implements them (`shuttle_runtime`). Shuttle runs one thread at a time, and
//! chooses the next thread at every use of a lock, an atomic or a thread. Tests thereby explore thousands of
//! interleavings (`api/shuttle_tests.rs`, `comm/mpi/shuttle_tests.rs`). Under Shuttle, no sleep ends by timeout, a pool
//! has one worker, and memory is sequentially consistent, so a missing fence is not detected.
//!
//! Invariant: `memory`, `comm`, `exec` and the code that starts ranks import every primitive that threads share or wait
//! for from this module. There are three exceptions, which are imported from std: locks without contention, counters,
//! and the lock of the list of segments (`memory/segment.rs`). No thread blocks while it holds that lock.

#[cfg(feature = "mpi")]
pub mod futex;
#[cfg(all(test, shuttle))]
mod shuttle_runtime;

#[cfg(all(test, shuttle))]
use einsum_dist_test_tools::shuttle;

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
