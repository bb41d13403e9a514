//! Decides how many threads to use.

/// Minimum elements for several threads; for fewer, distributing the work costs more than it saves.
pub const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

/// Returns how many of `threads` threads to use for `elements` elements.
pub(super) fn useful_threads(threads: usize, elements: usize) -> usize {
    if elements < MIN_PARALLEL_ELEMENTS { 1 } else { threads.max(1) }
}

/// Like [`useful_threads`], with the current rayon pool.
pub(super) fn threads_for(elements: usize) -> usize {
    useful_threads(rayon::current_num_threads(), elements)
}
