//! Values that belong to one thread, in Python objects that any thread can see.
//!
//! A world's thread also communicates, and MPI permits calls from the thread that initialised it only. Python objects
//! may be used and dropped by any thread, so every access checks the thread, and the process, because a fork copies them.

use std::mem::ManuallyDrop;
use std::process;
use std::thread::{self, ThreadId};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A value that only the thread that created it can access.
pub struct ThreadBound<T> {
    owner: ThreadId,
    /// A fork copies the thread, but not the workers and ranks that the value may wait for.
    process: u32,
    value: ManuallyDrop<T>,
}

// SAFETY: other threads cannot reach the value: `get` and `drop` compare the thread.
unsafe impl<T> Send for ThreadBound<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for ThreadBound<T> {}

impl<T> ThreadBound<T> {
    pub fn new(value: T) -> ThreadBound<T> {
        ThreadBound { owner: thread::current().id(), process: process::id(), value: ManuallyDrop::new(value) }
    }

    fn is_owner(&self) -> bool {
        self.owner == thread::current().id() && self.process == process::id()
    }

    /// # Errors
    /// RuntimeError in another thread or process than that which created the value.
    pub fn get(&self) -> PyResult<&T> {
        if !self.is_owner() {
            return Err(PyRuntimeError::new_err(
                "worlds, their tensors and their programs belong to the Python thread and the process that created them",
            ));
        }
        Ok(&self.value)
    }
}

impl<T> Drop for ThreadBound<T> {
    fn drop(&mut self) {
        // A value whose last reference is dropped by another thread or process is leaked.
        if self.is_owner() {
            // SAFETY: the value is dropped once, and not accessed afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// Calls `run` without the GIL, although it uses values that belong to this thread. (The library of Python only
/// accepts closures that could also run on another thread, which this one never does.)
///
/// # Safety
/// `run` uses no Python object.
pub unsafe fn detached<R: Send>(py: Python<'_>, run: impl FnOnce() -> R) -> R {
    struct SameThread<F>(F);
    // SAFETY: `Python::detach` calls the closure on the calling thread.
    unsafe impl<F> Send for SameThread<F> {}
    impl<R, F: FnOnce() -> R> SameThread<F> {
        fn call(self) -> R {
            (self.0)()
        }
    }
    let run = SameThread(run);
    py.detach(|| run.call())
}
