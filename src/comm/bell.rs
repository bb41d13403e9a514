//! A bell, with which a process wakes another's thread.
//!
//! Invariant: the sleeper announces its sleep before it checks the events that it waits for. Each side stores, executes
//! a full fence, and loads the other's word, so at least one sees the other.

use std::ptr::NonNull;
use std::time::Duration;

use crate::sync::atomic::{AtomicU32, Ordering, fence};
use crate::sync::futex::{wait, wake};

#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Word {
    rung: AtomicU32,
    asleep: AtomicU32,
}

/// The bell of one rank, which every rank of its node can ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bell(NonNull<Word>);

// SAFETY: a bell is the address of two atomics, which any thread may access, and which live until the last use (`new`).
unsafe impl Send for Bell {}
// SAFETY: as above.
unsafe impl Sync for Bell {}

impl Bell {
    /// Bytes of a bell, padded so that bells share no cache line.
    pub(super) const BYTES: usize = 128;

    /// # Safety
    /// `start` points at [`Bell::BYTES`] bytes, aligned to 4 bytes or more, that are not in use yet.
    pub(super) unsafe fn begin(start: NonNull<u8>) {
        // SAFETY: the caller's contract.
        unsafe { start.cast().write(Word::default()) };
    }

    /// # Safety
    /// `start` points at [`Bell::BYTES`] bytes, aligned to 4 bytes or more, that are used for this bell only and live
    /// until its last use. [`Bell::begin`] was called on them before.
    pub(super) unsafe fn new(start: NonNull<u8>) -> Bell {
        Bell(start.cast())
    }

    fn word(&self) -> &Word {
        // SAFETY: `new` requires an initialised word that outlives the bell, and both processes use atomics only.
        unsafe { self.0.as_ref() }
    }

    /// Cost: a fence, and a system call if a thread sleeps.
    pub(super) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.word().asleep.load(Ordering::Relaxed) != 0 {
            self.word().rung.fetch_add(1, Ordering::SeqCst);
            wake(&self.word().rung);
        }
    }

    /// Announces a sleep until the bell rings or `longest` has passed, and sleeps unless `ready` returns true.
    pub(super) fn sleep(&self, longest: Duration, ready: impl FnOnce() -> bool) {
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
mod tests;
