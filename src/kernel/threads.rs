//! When threads are worth waking.

/// Elements below which a second thread costs more than it gains.
const WORTH_THREADS: usize = 1 << 15;

/// How many of these threads are worth using for so many elements.
pub(super) fn worth(threads: usize, elements: usize) -> usize {
    if elements < WORTH_THREADS { 1 } else { threads.max(1) }
}

/// Threads of the current pool that are worth using for so many elements.
pub(super) fn threads_for(elements: usize) -> usize {
    worth(rayon::current_num_threads(), elements)
}
