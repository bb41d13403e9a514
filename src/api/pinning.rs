//! Pins threads to the cores of their rank by setting their CPU affinity.
//!
//! A thread that cannot be pinned runs unpinned, without an error.

/// Pins the calling thread, and the threads that it starts later, to `cores`. If `cores` is empty or the system
/// refuses, its mask stays.
pub(super) fn bind(cores: &[usize]) {
    #[cfg(target_os = "linux")]
    if !cores.is_empty() {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let mut set = CpuSet::new();
        cores.iter().filter(|&&core| core < CpuSet::MAX_CPU).for_each(|&core| set.set(core));
        // The cores may have gone offline, which is harmless.
        let _ = sched_setaffinity(None, &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = cores;
}
