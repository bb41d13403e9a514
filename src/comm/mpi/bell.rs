//! Wakes a thread of another process that sleeps.
//!
//! ```text
//! sleeper     asleep = 1, look once more, wait while `rung` is what it was         asleep = 0
//! ringer      change something, see asleep = 1, count `rung`, wake  ------------->
//! ```
//!
//! Invariant: between saying that it sleeps and sleeping, the sleeper looks at everything that it could miss; both sides have a full
//! fence between their own store and their look at the other's, so one of them sees the other.

use std::ptr::NonNull;
use std::time::Duration;

use crate::sync::atomic::{AtomicU32, Ordering, fence};
use crate::sync::futex::{wait, wake};

/// What lies in shared memory.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Word {
    rung: AtomicU32,
    asleep: AtomicU32,
}

/// The bell of one rank, as seen by any rank of its node.
#[derive(Debug, Clone, Copy)]
pub(in crate::comm) struct Bell(NonNull<Word>);

// SAFETY: the address of two atomics in memory that is shared anyhow; `new` asks for it to live as long.
unsafe impl Send for Bell {}
// SAFETY: as above.
unsafe impl Sync for Bell {}

impl Bell {
    /// Bytes that it takes, with a distance to its neighbours.
    pub(super) const BYTES: usize = 128;

    /// # Safety
    /// `start` points at [`Bell::BYTES`] bytes, aligned to 4 or more, that nobody uses yet.
    pub(super) unsafe fn begin(start: NonNull<u8>) {
        // SAFETY: the caller's contract.
        unsafe { start.cast().write(Word::default()) };
    }

    /// # Safety
    /// `start` points at [`Bell::BYTES`] bytes, aligned to 4 or more, that are used for this bell only and live until the last use of it;
    /// [`Bell::begin`] comes first.
    pub(super) unsafe fn new(start: NonNull<u8>) -> Bell {
        Bell(start.cast())
    }

    fn word(&self) -> &Word {
        // SAFETY: the contract of `new`; both processes use atomics only.
        unsafe { self.0.as_ref() }
    }

    /// Wakes the sleeper if there is one. Cost: a fence, and a call of the system where somebody sleeps.
    pub(in crate::comm) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.word().asleep.load(Ordering::Relaxed) != 0 {
            self.word().rung.fetch_add(1, Ordering::SeqCst);
            wake(&self.word().rung);
        }
    }

    /// Sleeps until somebody rings or `longest` has passed, unless `ready` says, after the announcement, that there is no need.
    pub(in crate::comm) fn sleep(&self, longest: Duration, ready: impl FnOnce() -> bool) {
        let word = self.word();
        word.asleep.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let rung = word.rung.load(Ordering::SeqCst);
        if !ready() {
            wait(&word.rung, rung, longest);
        }
        word.asleep.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::time::Instant;

    use super::*;
    use crate::memory::Aligned;

    #[test]
    fn nothing_is_missed() {
        let memory = Aligned::zeroed(Bell::BYTES, &Default::default()).unwrap();
        // SAFETY: as large, and alive until the end of the test.
        let bell = unsafe {
            Bell::begin(NonNull::new(memory.as_ptr()).unwrap());
            Bell::new(NonNull::new(memory.as_ptr()).unwrap())
        };
        let (asked, answered) = (AtomicU64::new(0), AtomicU64::new(0));
        let started = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..=10_000 {
                    asked.store(number, Ordering::Release);
                    bell.ring();
                    while answered.load(Ordering::Acquire) < number {
                        std::thread::yield_now();
                    }
                }
            });
            for number in 1..=10_000 {
                while asked.load(Ordering::Acquire) < number {
                    bell.sleep(Duration::from_secs(10), || asked.load(Ordering::Acquire) >= number);
                }
                answered.store(number, Ordering::Release);
            }
        });
        assert!(started.elapsed() < Duration::from_secs(10), "a ring was missed");
    }
}
