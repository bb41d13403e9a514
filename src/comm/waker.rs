//! Wakes a sleeping communication thread.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "mpi")]
use super::bell::Bell;
use crate::sync::{Condvar, Mutex, MutexGuard, lock};

/// A flag on which one thread sleeps and which many may raise; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    raised: bool,
    /// If set, the thread sleeps on this bell instead.
    #[cfg(feature = "mpi")]
    bell: Option<Bell>,
}

impl Waker {
    /// Raises the flag and wakes the sleeping thread, or ends the next sleep.
    pub fn wake(&self) {
        let mut state = self.state();
        state.raised = true;
        self.0.1.notify_one();
        #[cfg(feature = "mpi")]
        if let Some(bell) = state.bell {
            bell.ring();
        }
    }

    /// Sleeps until the flag is raised or `longest` has passed, then lowers it.
    pub fn sleep(&self, longest: Duration) {
        let waited = self.0.1.wait_timeout_while(self.state(), longest, |state| !state.raised);
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0.raised = false;
    }

    /// Like [`Waker::sleep`], on `bell`, which raising the flag also rings, unless `ready` returns true after
    /// announcing the sleep.
    #[cfg(feature = "mpi")]
    pub(super) fn sleep_on(&self, bell: Bell, longest: Duration, ready: impl FnOnce() -> bool) {
        bell.sleep(longest, || self.take() || ready());
        self.take();
    }

    #[cfg(feature = "mpi")]
    fn take(&self) -> bool {
        std::mem::take(&mut self.state().raised)
    }

    #[cfg(feature = "mpi")]
    pub(super) fn rings(&self, bell: Option<Bell>) {
        self.state().bell = bell;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.0)
    }
}
