//! How long to pause between two looks at messages in flight.
//!
//! Neither MPI moves a large message while nobody calls it, and MPICH moves a bounded part of it per call, so a waiting
//! thread cannot just sleep. It looks again at once while something moves. Then, if nobody computes, it lets others have its
//! core between two looks; then it sleeps, shortly first. A thread with a core of its own never sleeps.
//!
//! ```text
//! looks      |||||||||| . . . . . . |   |     |       |  ...     while nobody computes: 256 yields, then 20 to 200 us asleep
//!            |||||||||| |   |     |       |  ...                 beside workers: asleep at once
//!            ^ something happened, or a look took long: bytes moved
//! ```
//!
//! Beside workers a yield is the worst there is: on a core of its own it takes what memory and clocks would give to them, and on
//! theirs it hands the core over for milliseconds, in which a link runs dry. Who has slept is let in again much sooner.

use std::time::Duration;

/// Pauses that only yield. They last about 100 microseconds where nobody else wants the core: longer than the shortest
/// sleep, or ranks that answer each other would take turns in sleeping.
const YIELDS: u32 = 256;
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_micros(200);

/// A look that takes this long has moved bytes: an idle one takes less than a microsecond.
const BUSY: Duration = Duration::from_micros(10);

/// The pauses of one wait.
#[derive(Debug)]
pub(super) struct Pause {
    spin: bool,
    /// The last look moved something.
    busy: bool,
    yielded: u32,
    next: Duration,
}

impl Pause {
    /// With `spin`, the thread has a core of its own and never sleeps.
    pub(super) fn new(spin: bool) -> Pause {
        Pause { spin, busy: false, yielded: 0, next: SHORTEST }
    }

    /// Whether the thread never sleeps.
    pub(super) fn spins(&self) -> bool {
        self.spin
    }

    /// Something has happened: the next pauses are short.
    pub(super) fn reset(&mut self) {
        (self.yielded, self.next) = (0, SHORTEST);
    }

    /// Takes note of a look: how long it took, and whether it found anything.
    pub(super) fn looked(&mut self, time: Duration, found: bool) {
        self.busy = found || time >= BUSY;
        if self.busy {
            self.reset();
        }
    }

    /// Pauses once; `sleep` sleeps for at most the time it is given. `computing` says that workers are busy.
    pub(super) fn pause(&mut self, computing: bool, sleep: impl FnOnce(Duration)) {
        if std::mem::take(&mut self.busy) {
            return;
        }
        if self.spin || (!computing && self.yielded < YIELDS) {
            self.yielded = self.yielded.saturating_add(1);
            std::thread::yield_now();
        } else {
            sleep(self.next);
            self.next = (self.next * 3 / 2).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slept(pause: &mut Pause, computing: bool) -> Option<Duration> {
        let mut slept = None;
        pause.pause(computing, |time| slept = Some(time));
        slept
    }

    #[test]
    fn sleeps_grow_until_something_happens() {
        let mut pause = Pause::new(false);
        assert!((0..YIELDS).all(|_| slept(&mut pause, false).is_none()));
        assert_eq!(slept(&mut pause, false), Some(SHORTEST));
        pause.looked(Duration::from_micros(1), false);
        assert!((0..20).filter_map(|_| slept(&mut pause, false)).is_sorted());
        assert_eq!(slept(&mut pause, false), Some(LONGEST));
        pause.looked(BUSY, false);
        assert_eq!(slept(&mut pause, false), None);
    }

    #[test]
    fn beside_workers_only_a_busy_look_is_followed_by_another_at_once() {
        let mut pause = Pause::new(false);
        pause.looked(BUSY, false);
        assert_eq!([(); 2].map(|()| slept(&mut pause, true)), [None, Some(SHORTEST)]);
        pause.looked(Duration::from_micros(1), true);
        assert_eq!([(); 2].map(|()| slept(&mut pause, true)), [None, Some(SHORTEST)]);
    }

    #[test]
    fn a_thread_with_a_core_never_sleeps() {
        let mut pause = Pause::new(true);
        assert!((0..1000).all(|at| slept(&mut pause, at % 2 == 0).is_none()));
    }
}
