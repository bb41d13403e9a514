//! The pool in which contractions compute, and what a fork does to it.
//!
//! A fork copies only the thread that calls it. The child would wait forever for the workers of the parent's pool, so
//! it creates a pool of its own, and never touches the parent's pool, whose locks may be held by threads that do not
//! exist in the child.
//!
//! Invariant: The state is accessed only with the GIL held, and never while Python code runs. A fork, which also needs
//! the GIL, therefore never copies a locked state.

use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard};

use einsum_dist::Workers;
use einsum_dist::rayon::{ThreadPoolBuilder, max_num_threads};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Variables that set the number of threads. The first with a valid value is used. The last two are those of rayon and
/// of OpenMP, so that a job script limits all libraries alike.
const VARIABLES: [&str; 3] = ["EINSUM_DIST_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"];

/// Maximum number of pools, so that a program that tries many numbers of threads does not keep all of them.
const MAX_POOLS: usize = 3;

struct State {
    /// The number of threads for the next contraction; `None` until it is set or first needed.
    threads: Option<usize>,
    /// The pools, of different sizes, that were used last, least recently used first.
    pools: Vec<Workers>,
}

static STATE: Mutex<State> = Mutex::new(State { threads: None, pools: Vec::new() });

/// A pool, and the process to which its workers belong.
#[derive(Clone)]
pub struct Team {
    pub pool: Workers,
    process: u32,
}

impl Team {
    /// Whether two teams are the same.
    pub fn is(&self, other: &Team) -> bool {
        std::ptr::eq(self.pool.pool(), other.pool.pool())
    }

    /// Whether the workers are those of the process from which this process was forked. Such a team must be forgotten
    /// instead of dropped.
    pub fn is_of_parent(&self) -> bool {
        self.process != std::process::id()
    }
}

/// Returns the pool for a contraction, with the current number of threads unless `threads` is given. The threads are
/// started if there is no such pool.
pub fn team(_gil: Python<'_>, threads: Option<usize>) -> PyResult<Team> {
    let mut state = lock();
    let threads = threads.unwrap_or_else(|| *state.threads.get_or_insert_with(default_threads));
    let pool = match state.pools.iter().position(|pool| pool.pool().current_num_threads() == threads) {
        Some(at) if at + 1 == state.pools.len() => state.pools[at].clone(),
        Some(at) => {
            let pool = state.pools.remove(at);
            state.pools.push(pool.clone());
            pool
        }
        None => {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            let builder = builder.thread_name(|worker| format!("einsum_dist worker {worker}"));
            let failed = |error| PyRuntimeError::new_err(format!("cannot start {threads} threads: {error}"));
            let pool = Workers::on_own_cores(Arc::new(builder.build().map_err(failed)?));
            if state.pools.len() >= MAX_POOLS {
                state.pools.remove(0);
            }
            state.pools.push(pool.clone());
            pool
        }
    };
    Ok(Team { pool, process: std::process::id() })
}

fn lock() -> MutexGuard<'static, State> {
    // A panic cannot leave the state incomplete, because every change is one assignment.
    STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn default_threads() -> usize {
    // OMP_NUM_THREADS may be a list, with a number for each level of nested regions.
    let first = |text: String| text.split(',').next()?.trim().parse().ok();
    let set = VARIABLES.iter().filter_map(|name| first(std::env::var(name).ok()?));
    let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
    set.into_iter().find(|&threads| threads > 0).unwrap_or_else(available)
}

/// Return the number of threads with which contractions compute.
///
/// Initially, this is the value of the environment variable EINSUM_DIST_NUM_THREADS, RAYON_NUM_THREADS or
/// OMP_NUM_THREADS (the first with a valid value), or else the number of cores that the process may use.
#[pyfunction]
pub fn get_num_threads(_py: Python<'_>) -> usize {
    *lock().threads.get_or_insert_with(default_threads)
}

/// Set the number of threads with which contractions compute, in all Python threads of this process.
///
/// Threads are started by the next contraction. Contractions that already run are not affected.
#[pyfunction]
pub fn set_num_threads(_py: Python<'_>, threads: i64) -> PyResult<()> {
    let most = max_num_threads();
    let number = usize::try_from(threads).ok().filter(|number| (1..=most).contains(number));
    let wrong = || PyValueError::new_err(format!("{threads} threads: the number must be from 1 to {most}"));
    lock().threads = Some(number.ok_or_else(wrong)?);
    Ok(())
}

/// Replaces the pools after a fork, in the child.
#[pyfunction]
pub fn after_fork_in_child(_py: Python<'_>) {
    let mut state = lock();
    // Dropping a pool would wake its workers, which do not exist in this process.
    state.pools.drain(..).for_each(std::mem::forget);
}
