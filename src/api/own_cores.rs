//! Keeps the workers of a rank without peers on their own cores while no other program computes there.
//!
//! Linux may let two workers share a core for 0.1 s or longer, so each is pinned (`docs/placement.md`).
//!
//! Invariant: the calling thread is never pinned. Workers are pinned only if there is one per core of the process,
//! there is no CPU quota, the system reports how long they wait, and no one else changes their affinity masks.

mod awake;

use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rayon::{Scope, ThreadPool};

use self::awake::Awake;
use super::cores::{self, Thread};
use super::host;
use crate::sync::{Condvar, Mutex};

/// Between checks, in all and for each worker.
const INTERVAL: Duration = Duration::from_millis(5);
const PER_WORKER: Duration = Duration::from_micros(500);
/// The first and longest between uses of own cores.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];
const MAX_WAIT: f64 = 0.25;

/// A pool of threads, in which a world of one rank computes.
#[derive(Debug, Clone)]
pub struct Workers {
    pool: Arc<ThreadPool>,
    own: Option<Arc<OwnCores>>,
}

impl From<Arc<ThreadPool>> for Workers {
    fn from(pool: Arc<ThreadPool>) -> Workers {
        Workers { pool, own: None }
    }
}

impl Workers {
    /// A pool that only einsum-dist uses. With a thread per core, each is pinned to one while no other program
    /// computes. Cost: some microseconds per thread.
    pub fn on_own_cores(pool: Arc<ThreadPool>) -> Workers {
        let own = OwnCores::of(pool.broadcast(|_| cores::this_thread())).map(Arc::new);
        Workers { pool, own }
    }

    /// The pool.
    pub fn pool(&self) -> &ThreadPool {
        &self.pool
    }

    pub(super) fn run<V: Send>(&self, work: impl FnOnce() -> V + Send) -> V {
        match &self.own {
            // A worker of a pool must not wait, because it may have to run the job itself.
            Some(own) if rayon::current_thread_index().is_none() => own.run(Some(&self.pool), work),
            _ => self.pool.install(work),
        }
    }
}

static GLOBAL: OnceLock<Option<OwnCores>> = OnceLock::new();

/// Lets the workers of rayon's global pool have cores of their own in [`run_in_current_pool`].
pub(super) fn keep_global_pool_on_own_cores() {
    GLOBAL.get_or_init(|| OwnCores::of(rayon::broadcast(|_| cores::this_thread())));
}

/// Computes on the calling thread and its current pool, or in the global pool if that has cores of its own.
pub(super) fn run_in_current_pool<V: Send>(work: impl FnOnce() -> V + Send) -> V {
    match GLOBAL.get() {
        Some(Some(own)) if rayon::current_thread_index().is_none() => own.run(None, work),
        _ => work(),
    }
}

#[derive(Debug)]
struct OwnCores {
    workers: Vec<Thread>,
    /// The core of each worker, and all cores of the process.
    cores: Vec<usize>,
    all: Vec<usize>,
    awake: Arc<Awake>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pinned: bool,
    /// When workers may be pinned or are checked again; `None` if others changed their masks.
    next: Option<Instant>,
    pause: Duration,
    /// Each worker's nanoseconds running, waiting for a core, and lending one to others, at the last check; empty if
    /// none since it has its own core.
    times: Vec<[u64; 3]>,
}

#[derive(Default)]
struct End {
    reached: Mutex<bool>,
    changed: Condvar,
}

struct AtEnd<'a>(&'a End);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        *unpoisoned(self.0.reached.lock()) = true;
        self.0.changed.notify_one();
    }
}

impl OwnCores {
    fn of(workers: Vec<Thread>) -> Option<OwnCores> {
        let all = host::cpus();
        let topology = host::allowed().ok()?;
        let cores = topology.domains.iter().flat_map(|domain| &domain.cores);
        let cores: Vec<usize> = cores.filter_map(|units| units.iter().copied().min()).collect();
        // Several processes with fewer workers would choose the same cores.
        if workers.len() < 2 || cores.len() != workers.len() || host::processors() < all.len() {
            return None;
        }
        let state = State { pinned: false, next: Some(Instant::now()), pause: PAUSES[0], times: Vec::new() };
        let awake = Awake::new(workers.len());
        Some(OwnCores { workers, cores, all, awake, state: Mutex::new(state) })
    }

    /// The calling thread waits, and checks the workers meanwhile.
    fn run<V: Send>(&self, pool: Option<&ThreadPool>, work: impl FnOnce() -> V + Send) -> V {
        self.check();
        let _run = self.awake.run(pool);
        let (mut value, end) = (None, End::default());
        match pool {
            Some(pool) => pool.in_place_scope(|scope| self.spawn(scope, work, &mut value, &end)),
            None => rayon::in_place_scope(|scope| self.spawn(scope, work, &mut value, &end)),
        }
        match value {
            Some(value) => value,
            None => unreachable!("a scope waits for its job, and panics if it does"),
        }
    }

    fn spawn<'s, V: Send>(
        &self,
        scope: &Scope<'s>,
        work: impl FnOnce() -> V + Send + 's,
        value: &'s mut Option<V>,
        end: &'s End,
    ) {
        scope.spawn(move |_| {
            let _at_end = AtEnd(end);
            *value = Some(work());
        });
        let mut reached = unpoisoned(end.reached.lock());
        while !*reached {
            let (guard, time) = unpoisoned(end.changed.wait_timeout(reached, INTERVAL));
            reached = guard;
            if time.timed_out() {
                self.check();
            }
        }
    }

    fn check(&self) {
        let Ok(mut state) = self.state.try_lock() else { return };
        let now = Instant::now();
        if state.next.is_none_or(|next| now < next) {
            return;
        }
        let allowed = |at: usize| if state.pinned { &self.cores[at..=at] } else { &self.all };
        if !self.workers.iter().enumerate().all(|(at, &worker)| cores::is_bound(worker, allowed(at))) {
            state.next = None;
            return;
        }
        let times = self.workers.iter().enumerate().map(|(at, &worker)| {
            let [ran, waited] = times(worker)?;
            Some([ran, waited, self.awake.lent(at)])
        });
        let times = times.collect::<Option<Vec<_>>>().unwrap_or_default();
        let since = times.iter().zip(&state.times).map(|(new, old)| {
            let [ran, waited, lent] = [0, 1, 2].map(|i| new[i].saturating_sub(old[i]));
            [ran, waited.saturating_sub(lent)]
        });
        let since: Vec<[u64; 2]> = since.collect();
        let interval = INTERVAL.max(PER_WORKER * self.workers.len() as u32);
        let longest = since.iter().map(|[ran, waited]| ran + waited).max().unwrap_or_default();
        let is_short = !since.is_empty() && u128::from(longest) < INTERVAL.as_nanos();
        // A worker may have waited mostly for the calling thread.
        let waits = |&[_, waited]: &[u64; 2]| waited as f64 > MAX_WAIT * longest as f64;
        if times.is_empty() || state.pinned && !is_short && since.iter().any(waits) {
            self.workers.iter().for_each(|&worker| cores::bind_thread(worker, &self.all));
            let pause = PAUSES[1].min(2 * state.pause);
            *state = State { pinned: false, next: Some(now + state.pause), pause, times };
            return;
        }
        let times = match (state.pinned, is_short) {
            (false, _) => {
                let cores = self.workers.iter().zip(&self.cores);
                cores.for_each(|(&worker, &core)| cores::bind_thread(worker, &[core]));
                // Waiting is counted at its end, and may have begun earlier.
                Vec::new()
            }
            (true, true) => std::mem::take(&mut state.times),
            (true, false) => times,
        };
        let pause = PAUSES[0].max(state.pause * 99 / 100);
        *state = State { pinned: true, next: Some(now + interval), pause, times };
    }
}

/// A thread's nanoseconds running and waiting for a core; `None` if not counted.
fn times(thread: Thread) -> Option<[u64; 2]> {
    #[cfg(target_os = "linux")]
    let thread = thread.as_raw_nonzero();
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread:?}/schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?]).filter(|&[ran, _]| ran > 0)
}

/// No code panics while it holds the lock.
fn unpoisoned<G>(locked: Result<G, PoisonError<G>>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
