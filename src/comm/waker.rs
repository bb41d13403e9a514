//! Wakes a communication thread that sleeps.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A flag that one thread sleeps on and many may raise. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<(Mutex<bool>, Condvar)>);

impl Waker {
    /// Raises the flag; a sleeper returns, or the next sleep does at once.
    pub fn wake(&self) {
        let (flag, condition) = &*self.0;
        *flag.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = true;
        condition.notify_one();
    }

    /// Sleeps until the flag is raised or `longest` has passed, and lowers the flag.
    pub fn sleep(&self, longest: Duration) {
        let (flag, condition) = &*self.0;
        let raised = flag.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (mut raised, _) = condition
            .wait_timeout_while(raised, longest, |raised| !*raised)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        *raised = false;
    }
}
