//! Wakes a communication thread that sleeps.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "mpi")]
use super::mpi::Bell;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// A flag that one thread sleeps on and many may raise. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    raised: bool,
    /// The thread sleeps on this instead, as other processes wake it too.
    #[cfg(feature = "mpi")]
    bell: Option<Bell>,
}

impl Waker {
    /// Raises the flag; a sleeper returns, or the next sleep does at once.
    pub fn wake(&self) {
        let mut state = self.state();
        state.raised = true;
        self.0.1.notify_one();
        #[cfg(feature = "mpi")]
        if let Some(bell) = state.bell {
            bell.ring();
        }
    }

    /// Sleeps until the flag is raised or `longest` has passed, and lowers the flag.
    pub fn sleep(&self, longest: Duration) {
        let waited = self.0.1.wait_timeout_while(self.state(), longest, |state| !state.raised);
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0.raised = false;
    }

    /// Sleeps on the bell that raising the flag rings until that or `longest` has passed, unless the flag is raised or `ready` says, after
    /// the announcement, that there is no need; lowers the flag.
    #[cfg(feature = "mpi")]
    pub(super) fn sleep_on(&self, bell: Bell, longest: Duration, ready: impl FnOnce() -> bool) {
        bell.sleep(longest, || self.take() || ready());
        self.take();
    }

    /// Lowers the flag; whether it was raised.
    #[cfg(feature = "mpi")]
    fn take(&self) -> bool {
        std::mem::take(&mut self.state().raised)
    }

    /// From now on raising the flag rings this bell, too; with `None` no longer.
    #[cfg(feature = "mpi")]
    pub(super) fn rings(&self, bell: Option<Bell>) {
        self.state().bell = bell;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
