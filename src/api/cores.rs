//! Determines this process's cores, by the operating system's numbers, and the host's name, and pins threads. A thread
//! that cannot be pinned runs without an error.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};

/// The online cores in this process's affinity mask; empty if the system has no affinity masks.
pub fn cpus() -> Vec<usize> {
    let mut cpus = listed(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    // A mask may contain cores that are offline or not yet present.
    if let Ok(online) = std::fs::read_to_string("/sys/devices/system/cpu/online") {
        let online = ranges(online.trim());
        cpus.retain(|cpu| online.binary_search(cpu).is_ok());
    }
    cpus
}

/// The number of cores in this process's affinity mask, or fewer under a CPU quota.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A process's host, busy threads and cores.
pub(super) type Load = (String, usize, Vec<usize>);

pub(super) fn load(threads: usize) -> Load {
    (name(), threads, cpus())
}

pub(super) const MAX_THREADS_PER_CORE: usize = 4;

/// Whether processes of one host have more than `most` threads per core. With more than [`MAX_THREADS_PER_CORE`],
/// measurements would be of waiting for cores.
pub(super) fn crowded(processes: &[Load], most: usize) -> bool {
    let mut hosts = BTreeMap::<&str, (usize, BTreeSet<usize>)>::new();
    for (name, threads, cpus) in processes {
        let host = hosts.entry(name).or_default();
        host.0 += threads;
        host.1.extend(cpus);
    }
    hosts.values().any(|(threads, cpus)| *threads > most * cpus.len().max(1))
}

pub(super) fn listed(status: &str) -> Vec<usize> {
    ranges(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default())
}

pub(super) fn ranges(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The host's name; empty if the system provides none.
pub fn name() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    return String::new();
}

#[cfg(target_os = "linux")]
pub(super) type Thread = Pid;
#[cfg(not(target_os = "linux"))]
pub(super) type Thread = ();

pub(super) fn this_thread() -> Thread {
    #[cfg(target_os = "linux")]
    return gettid();
}

/// Pins the calling thread and those it starts later, unless `cores` is empty or the system refuses.
pub(super) fn bind(cores: &[usize]) {
    bind_thread(this_thread(), cores);
}

pub(super) fn bind_thread(thread: Thread, cores: &[usize]) {
    #[cfg(target_os = "linux")]
    if !cores.is_empty() {
        // The cores may have gone offline, which is harmless.
        let _ = sched_setaffinity(Some(thread), &set(cores));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (thread, cores);
}

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

#[cfg(test)]
mod tests;
