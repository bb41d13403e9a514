//! Decides how many threads to use.

/// Below this many elements, a second thread costs more than it gains.
const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

/// Returns the number of threads, at most `threads`, to use for `elements` elements.
pub(super) fn useful_threads(threads: usize, elements: usize) -> usize {
    if elements < MIN_PARALLEL_ELEMENTS { 1 } else { threads.max(1) }
}

/// Like [`useful_threads`], with the number of threads of the current rayon pool.
pub(super) fn threads_for(elements: usize) -> usize {
    useful_threads(rayon::current_num_threads(), elements)
}
