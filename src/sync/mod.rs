//! Locks, atomics and threads for code in which threads or ranks wait for each other: Shuttle's in tests with `--cfg
//! shuttle` (`docs/testing.md`), otherwise those of std and rayon.
//!
//! Invariant: `memory`, `comm`, `exec` and the code that starts ranks import every primitive that threads share or wait
//! for from here, except locks without contention, counters, and the lock of the list of segments
//! (`memory/segment.rs`), under which no thread blocks.

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

/// Locks a mutex whose value every change leaves consistent, so that a panic while it is locked does no harm.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
