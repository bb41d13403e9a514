//! Pins threads to their rank's cores by their CPU affinity.
//!
//! A thread that cannot be pinned runs unpinned, without an error.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};

#[cfg(target_os = "linux")]
pub(super) type Thread = Pid;
#[cfg(not(target_os = "linux"))]
pub(super) type Thread = ();

pub(super) fn this_thread() -> Thread {
    #[cfg(target_os = "linux")]
    return gettid();
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
        // The cores may have gone offline, which is harmless.
        let _ = sched_setaffinity(Some(thread), &set(cores));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (thread, cores);
}

/// Whether a thread of this process may use exactly these cores.
pub(super) fn is_bound(thread: Thread, cores: &[usize]) -> bool {
    #[cfg(target_os = "linux")]
    return sched_getaffinity(Some(thread)) == Ok(set(cores));
    #[cfg(not(target_os = "linux"))]
    return (thread, cores).1.is_empty();
}

#[cfg(target_os = "linux")]
fn set(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cores.iter().filter(|&&core| core < CpuSet::MAX_CPU).for_each(|&core| set.set(core));
    set
}
