//! Decides how long to pause between two polls while messages are in flight.
//!
//! A waiting thread cannot simply sleep, because Open MPI and MPICH move large messages only during calls. MPICH also
//! moves only a bounded number of bytes of a large message per call. While bytes move, the thread polls again
//! immediately. Once bytes stop moving, it yields its core between polls, or sleeps if workers are computing. If
//! there are still no bytes after many polls, it sleeps in any case, briefly at first. A thread with a core of its own
//! never sleeps.
//!
//! ```text
//! polls   |||||||||| . . . . . . |   |     |       |  ...     no worker computes: 256 yields, then 20 to 200 us asleep
//!         |||||||||| |   |     |       |  ...                 beside workers: asleep at once
//!         ^ something happened, or a poll took long: bytes moved
//!         || |  ||    |     ||        |         ||  ...       beside workers and a slow link: up to 1 ms asleep
//! ```
//!
//! While workers compute, a thread without a core of its own sleeps instead of yielding. If it runs on an idle core,
//! yielding would take memory bandwidth from the workers and lower the clock frequency of their cores. On a worker's
//! core, a thread that yields loses the core for milliseconds, and the link becomes idle in the meantime. A thread that
//! has slept is scheduled again much sooner.
//!
//! Each sleep interrupts a worker twice. The poll after a sleep moves the bytes that a slow link has delivered during
//! the sleep. If this poll is much shorter than the sleep, the next sleep is longer. If the poll takes at least as long
//! as the sleep, the next sleep is shorter. A poll that moves no bytes does not shorten sleeps.

use std::time::Duration;

/// Number of pauses that only yield. Together they last about 100 microseconds if no other thread needs the core. This
/// is longer than the shortest sleep; otherwise, two ranks that reply to each other would sleep alternately.
const YIELDS: u32 = 256;
const MIN_SLEEP: Duration = Duration::from_micros(20);
const MAX_SLEEP: Duration = Duration::from_micros(200);
/// Longest sleep while bytes move. The bytes that a gigabit link delivers in this time fit into the system's buffers.
const MAX_MOVING_SLEEP: Duration = Duration::from_millis(1);
/// A poll should take between `1 / MIN_POLL_DIVISOR` and `1 / MAX_POLL_DIVISOR` of the duration of the sleep before it.
const MIN_POLL_DIVISOR: u32 = 4;
const MAX_POLL_DIVISOR: u32 = 1;

/// A poll that takes at least this long has moved bytes, because an idle poll takes less than a microsecond.
const MIN_BUSY_POLL: Duration = Duration::from_micros(10);

/// The state of the pauses during one wait.
#[derive(Debug)]
pub(super) struct Pause {
    spin: bool,
    /// Whether the last poll moved bytes.
    busy: bool,
    yielded: u32,
    next: Duration,
    /// Duration of the last sleep while workers computed. Cleared by the poll that uses it.
    slept: Option<Duration>,
}

impl Pause {
    /// If `spin` is true, the thread has a core of its own and never sleeps.
    pub(super) fn new(spin: bool) -> Pause {
        Pause { spin, busy: false, yielded: 0, next: MIN_SLEEP, slept: None }
    }

    /// Whether the thread never sleeps.
    pub(super) fn spins(&self) -> bool {
        self.spin
    }

    /// Makes the next pauses short. Called when a transfer starts or a poll makes progress.
    pub(super) fn reset(&mut self) {
        (self.yielded, self.next, self.slept) = (0, MIN_SLEEP, None);
    }

    /// Records the duration of a poll, and whether it made progress.
    pub(super) fn record_poll(&mut self, time: Duration, found: bool) {
        self.busy = found || time >= MIN_BUSY_POLL;
        if found {
            self.reset();
        } else if self.busy {
            self.yielded = 0;
            if let Some(slept) = self.slept.take() {
                self.next = match time {
                    _ if time < slept / MIN_POLL_DIVISOR => slept * 3 / 2,
                    _ if time < slept / MAX_POLL_DIVISOR => slept,
                    _ => slept / 2,
                }
                .clamp(MIN_SLEEP, MAX_MOVING_SLEEP);
            }
        }
    }

    /// Pauses once. `sleep` sleeps for at most the given time, or until it is woken, and returns the time slept.
    /// `computing` is true while workers are busy.
    pub(super) fn pause(&mut self, computing: bool, sleep: impl FnOnce(Duration) -> Duration) {
        if std::mem::take(&mut self.busy) {
            return;
        }
        if self.spin || (!computing && self.yielded < YIELDS) {
            if self.yielded == 0 {
                self.next = MIN_SLEEP;
            }
            self.yielded = self.yielded.saturating_add(1);
            std::thread::yield_now();
        } else {
            let slept = sleep(self.next);
            self.slept = computing.then_some(slept);
            self.next = self.next.max((self.next * 3 / 2).min(MAX_SLEEP));
        }
    }
}

#[cfg(test)]
mod tests;
