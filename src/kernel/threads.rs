//! When threads are worth waking.

/// Elements below which a second thread costs more than it gains.
const WORTH_THREADS: usize = 1 << 15;

/// Threads worth using for so many elements, on the current pool.
pub(super) fn threads_for(elements: usize) -> usize {
    if elements < WORTH_THREADS { 1 } else { rayon::current_num_threads() }
}
