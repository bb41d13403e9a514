//! Determines the cores that this process may use, by the operating system's numbers, and the host's name.

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
#[cfg(unix)]
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The host's name; empty if the system provides none.
#[cfg(not(unix))]
pub fn name() -> String {
    String::new()
}
