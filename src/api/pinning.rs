//! Pins threads to the cores of their rank by setting their CPU affinity.
//!
//! A thread that cannot be pinned runs unpinned, and no error is returned.

/// Pins the calling thread, and the threads that it starts later, to `cores`. If `cores` is empty or the system
/// refuses, the thread keeps its affinity mask.
pub(super) fn bind(cores: &[usize]) {
    #[cfg(target_os = "linux")]
    if !cores.is_empty() {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let mut set = CpuSet::new();
        cores.iter().filter(|&&core| core < CpuSet::MAX_CPU).for_each(|&core| set.set(core));
        // The call fails if the cores have gone offline in the meantime. The thread then keeps its affinity mask, which
        // is harmless.
        let _ = sched_setaffinity(None, &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = cores;
}
