//! Decides how many threads to use.

/// Minimum number of elements for which several threads are used. With fewer elements, distributing the work costs more
/// time than it saves.
pub const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

/// Returns the number of threads to use for `elements` elements, out of `threads` available threads.
pub(super) fn useful_threads(threads: usize, elements: usize) -> usize {
    if elements < MIN_PARALLEL_ELEMENTS { 1 } else { threads.max(1) }
}

/// Like [`useful_threads`], with the number of threads of the current rayon pool.
pub(super) fn threads_for(elements: usize) -> usize {
    useful_threads(rayon::current_num_threads(), elements)
}
