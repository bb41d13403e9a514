//! What a process can say about where it runs.

pub use super::topology::{allowed, topology};

/// The host's name, or nothing where the system does not tell.
#[cfg(unix)]
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The host's name, or nothing where the system does not tell.
#[cfg(not(unix))]
pub fn name() -> String {
    String::new()
}

/// The cores that this process may use, of those that are there.
pub fn cpus() -> Vec<usize> {
    let mut cpus = listed(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    // A mask may have cores that have been taken out, or may be put in.
    if let Ok(online) = std::fs::read_to_string("/sys/devices/system/cpu/online") {
        let online = ranges(online.trim());
        cpus.retain(|cpu| online.binary_search(cpu).is_ok());
    }
    cpus
}

/// How many processing units this process may have the time of: those of its mask, or fewer by a quota.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The cores that a status of a process or thread allows.
pub(super) fn listed(status: &str) -> Vec<usize> {
    ranges(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default())
}

/// The numbers of a list such as `0-3,8`.
pub(super) fn ranges(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}
