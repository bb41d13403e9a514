//! What a process can say about where it runs.

/// The host's name, or nothing where the system does not tell.
pub fn name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}

/// The cores that this process may use.
pub fn cpus() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Bytes that programs can still get without swapping, or `None` where the system does not tell.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    // A container may be allowed less than its host has.
    let group = |file: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
    let allowed = group("memory.max").zip(group("memory.current")).map(|(max, used)| max.saturating_sub(used));
    Some(allowed.map_or(free, |allowed| allowed.min(free)))
}
