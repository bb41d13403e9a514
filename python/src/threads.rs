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

use einsum_dist::rayon::{ThreadPool, ThreadPoolBuilder, max_num_threads};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Variables that set the number of threads, the first that is set and valid wins. The last two are those of rayon and
/// of OpenMP, so that a job script limits all libraries alike.
const VARIABLES: [&str; 3] = ["EINSUM_DIST_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"];

struct State {
    /// The number of threads for the next contraction; `None` until it is set or first needed.
    threads: Option<usize>,
    pools: Vec<Arc<ThreadPool>>,
    forks: u64,
}

static STATE: Mutex<State> = Mutex::new(State { threads: None, pools: Vec::new(), forks: 0 });

/// A pool, and the number of forks between this process and the first process that imported the module.
#[derive(Clone)]
pub struct Team {
    pub pool: Arc<ThreadPool>,
    pub forks: u64,
}

impl Team {
    /// Whether two teams are the same.
    pub fn is(&self, other: &Team) -> bool {
        Arc::ptr_eq(&self.pool, &other.pool)
    }
}

/// Returns the pool for a contraction. Threads are started if there is no pool of the current size.
pub fn team(_gil: Python<'_>) -> PyResult<Team> {
    let mut state = lock();
    let threads = *state.threads.get_or_insert_with(default_threads);
    let known = state.pools.iter().find(|pool| pool.current_num_threads() == threads).cloned();
    let pool = match known {
        Some(pool) => pool,
        None => {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            let builder = builder.thread_name(|worker| format!("einsum_dist worker {worker}"));
            let pool = builder.build();
            let pool =
                pool.map_err(|error| PyRuntimeError::new_err(format!("cannot start {threads} threads: {error}")))?;
            let pool = Arc::new(pool);
            state.pools.push(pool.clone());
            pool
        }
    };
    Ok(Team { pool, forks: state.forks })
}

fn lock() -> MutexGuard<'static, State> {
    // A panic cannot leave the state incomplete, because every change is one assignment.
    STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn default_threads() -> usize {
    let set = VARIABLES.iter().filter_map(|name| std::env::var(name).ok()?.trim().parse().ok());
    let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
    set.into_iter().find(|&threads| threads > 0).unwrap_or_else(available)
}

/// Return the number of threads with which contractions compute.
///
/// Initially, this is the value of the environment variable EINSUM_DIST_NUM_THREADS, RAYON_NUM_THREADS or
/// OMP_NUM_THREADS (the first that is set), or else the number of cores that the process may use.
#[pyfunction]
pub fn get_num_threads(_py: Python<'_>) -> usize {
    *lock().threads.get_or_insert_with(default_threads)
}

/// Set the number of threads with which contractions compute, in all Python threads of this process.
///
/// Threads are started by the next large contraction. Contractions that already run are not affected.
#[pyfunction]
pub fn set_num_threads(_py: Python<'_>, threads: usize) -> PyResult<()> {
    let most = max_num_threads();
    if !(1..=most).contains(&threads) {
        return Err(PyValueError::new_err(format!("{threads} threads: the number must be from 1 to {most}")));
    }
    lock().threads = Some(threads);
    Ok(())
}

/// Replaces the pools after a fork, in the child.
#[pyfunction]
pub fn after_fork_in_child(_py: Python<'_>) {
    let mut state = lock();
    state.forks += 1;
    // Dropping a pool would wake its workers, which do not exist in this process.
    state.pools.drain(..).for_each(std::mem::forget);
}
