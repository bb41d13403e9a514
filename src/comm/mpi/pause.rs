//! Decides how long to pause between two polls while messages are in flight (`docs/transports.md`).
//!
//! Open MPI and MPICH move large messages only during calls. A waiting thread polls again immediately while bytes move,
//! then yields its core between polls, or sleeps if workers compute or after many polls. With its own core, it never
//! sleeps.

use std::time::Duration;

/// Pauses that only yield: about 100 microseconds, so that two ranks that reply to each other do not sleep alternately.
const YIELDS: u32 = 256;
const MIN_SLEEP: Duration = Duration::from_micros(20);
const MAX_SLEEP: Duration = Duration::from_micros(200);
/// Longest sleep while bytes move: a gigabit link then fills the system's buffers at most.
const MAX_MOVING_SLEEP: Duration = Duration::from_millis(1);
/// A poll should take between `1 / MIN_POLL_DIVISOR` and `1 / MAX_POLL_DIVISOR` of the sleep before it.
const MIN_POLL_DIVISOR: u32 = 4;
const MAX_POLL_DIVISOR: u32 = 1;

/// A poll of at least this has moved bytes; an idle one takes less than a microsecond.
const MIN_BUSY_POLL: Duration = Duration::from_micros(10);

#[derive(Debug)]
pub(super) struct Pause {
    spin: bool,
    busy: bool,
    yielded: u32,
    next: Duration,
    /// The last sleep beside workers, until the next poll.
    slept: Option<Duration>,
}

impl Pause {
    pub(super) fn new(spin: bool) -> Pause {
        Pause { spin, busy: false, yielded: 0, next: MIN_SLEEP, slept: None }
    }

    pub(super) fn spins(&self) -> bool {
        self.spin
    }

    pub(super) fn reset(&mut self) {
        (self.yielded, self.next, self.slept) = (0, MIN_SLEEP, None);
    }

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

    /// `sleep` sleeps for at most the given time and returns the time slept.
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
