//! Futexes: a thread sleeps until a thread or process wakes it through a shared word.
//!
//! Guarantee: a thread sleeps only if the word still has the expected value, and no wake-up after this check is lost.
//! Sleeps can end without one, so callers check again; without futexes, after at most 50 microseconds.

use std::time::Duration;

use super::atomic::AtomicU32;

/// If `word` contains `value`, sleeps until a wake-up or until `longest` has passed.
#[cfg(all(target_os = "linux", not(all(test, shuttle))))]
pub fn wait(word: &AtomicU32, value: u32, longest: Duration) {
    use rustix::thread::futex::{Flags, Timespec, wait};
    let longest = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
    let _ = wait(word, Flags::empty(), value, Some(&longest));
}

/// Wakes one thread that sleeps on the word.
#[cfg(all(target_os = "linux", not(all(test, shuttle))))]
pub fn wake(word: &AtomicU32) {
    let _ = rustix::thread::futex::wake(word, rustix::thread::futex::Flags::empty(), 1);
}

#[cfg(not(any(target_os = "linux", all(test, shuttle))))]
pub fn wait(_word: &AtomicU32, _value: u32, longest: Duration) {
    std::thread::sleep(longest.min(Duration::from_micros(50)));
}

#[cfg(not(any(target_os = "linux", all(test, shuttle))))]
pub fn wake(_word: &AtomicU32) {}

#[cfg(all(test, shuttle))]
pub use shuttle_runtime::{wait, wake};

#[cfg(all(test, shuttle))]
mod shuttle_runtime {
    use einsum_dist_test_tools::shuttle;
    use std::collections::HashMap;
    use std::ptr::from_ref;
    use std::sync::Arc;

    use super::{AtomicU32, Duration};
    use crate::sync::atomic::Ordering;
    use crate::sync::{Condvar, Mutex, lock};

    shuttle::lazy_static! {
        static ref SLEEPERS: Mutex<HashMap<usize, Arc<Condvar>>> = Mutex::new(HashMap::new());
    }

    pub fn wait(word: &AtomicU32, value: u32, _longest: Duration) {
        let mut sleepers = lock(&SLEEPERS);
        if word.load(Ordering::SeqCst) == value {
            let sleeper = sleepers.entry(from_ref(word) as usize).or_default().clone();
            drop(sleeper.wait(sleepers));
        }
    }

    pub fn wake(word: &AtomicU32) {
        if let Some(sleeper) = lock(&SLEEPERS).get(&(from_ref(word) as usize)) {
            sleeper.notify_one();
        }
    }
}
