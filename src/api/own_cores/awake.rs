//! Keeps workers awake for a moment after work, because waking one takes tens of microseconds on a virtual machine.
//!
//! Invariants: idle workers let all other threads run; none stays awake longer than [`BETWEEN_RUNS`] after a run, and
//! [`AT_MOST`] at a time, because the pool's other jobs may wait for it.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, Yield};

/// The longest without work, after and during a run.
const BETWEEN_RUNS: Duration = Duration::from_micros(200);
const IN_A_RUN: Duration = Duration::from_millis(2);
/// The longest altogether.
const AT_MOST: Duration = Duration::from_millis(20);
/// An idle worker that did not run for this long let another thread run.
const GAP: Duration = Duration::from_micros(5);

#[derive(Debug)]
pub(super) struct Awake {
    runs: AtomicUsize,
    awake: AtomicUsize,
    /// For each worker, the nanoseconds for which it let others run.
    lent: Vec<AtomicU64>,
}

pub(super) struct Run<'a>(&'a Awake);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.0.runs.fetch_sub(1, Relaxed);
    }
}

impl Awake {
    pub(super) fn new(workers: usize) -> Arc<Awake> {
        let lent = (0..workers).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Awake { runs: AtomicUsize::new(0), awake: AtomicUsize::new(0), lent })
    }

    /// Wakes all workers of a pool (`None`: the global one) for a run.
    pub(super) fn run(self: &Arc<Awake>, pool: Option<&ThreadPool>) -> Run<'_> {
        // During a run, it might begin inside a job, and delay it.
        if self.runs.fetch_add(1, Relaxed) == 0 && self.awake.load(Relaxed) < self.lent.len() {
            let own = self.clone();
            match pool {
                Some(pool) => pool.spawn_broadcast(move |_| own.stay()),
                None => rayon::spawn_broadcast(move |_| own.stay()),
            }
        }
        Run(self)
    }

    pub(super) fn lent(&self, worker: usize) -> u64 {
        self.lent[worker].load(Relaxed)
    }

    fn stay(&self) {
        thread_local! {
            static STAYS: Cell<bool> = const { Cell::new(false) };
        }
        let Some(worker) = rayon::current_thread_index().filter(|_| !STAYS.replace(true)) else { return };
        self.awake.fetch_add(1, Relaxed);
        let begin = Instant::now();
        let (mut before, mut idle_since) = (begin, begin);
        loop {
            let executed = matches!(rayon::yield_now(), Some(Yield::Executed));
            let now = Instant::now();
            if executed {
                idle_since = now;
            } else if now - before > GAP {
                self.lent[worker].fetch_add((now - before).as_nanos() as u64, Relaxed);
            }
            before = now;
            let longest = if self.runs.load(Relaxed) > 0 { IN_A_RUN } else { BETWEEN_RUNS };
            if now - idle_since > longest || now - begin > AT_MOST {
                break;
            }
            if !executed {
                std::thread::yield_now();
            }
        }
        self.awake.fetch_sub(1, Relaxed);
        STAYS.set(false);
    }
}

#[cfg(test)]
mod tests;
