//! Pins threads to their rank's cores by their CPU affinity.
//!
//! A thread that cannot be pinned runs unpinned, without an error.

#[cfg(target_os = "linux")]
pub(super) type Thread = rustix::thread::Pid;
#[cfg(not(target_os = "linux"))]
pub(super) type Thread = ();

pub(super) fn this_thread() -> Thread {
    #[cfg(target_os = "linux")]
    return rustix::thread::gettid();
}

/// Pins the calling thread, and threads that it starts later. If `cores` is empty or the system refuses, its mask
/// stays.
pub(super) fn bind(cores: &[usize]) {
    bind_thread(this_thread(), cores);
}

/// Like [`bind`], for another thread of this process.
pub(super) fn bind_thread(thread: Thread, cores: &[usize]) {
    #[cfg(target_os = "linux")]
    if !cores.is_empty() {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let mut set = CpuSet::new();
        cores.iter().filter(|&&core| core < CpuSet::MAX_CPU).for_each(|&core| set.set(core));
        // The cores may have gone offline, which is harmless.
        let _ = sched_setaffinity(Some(thread), &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (thread, cores);
}
