//! Determines the bytes that a process and its host can still allocate.
//!
//! | scope | limits |
//! |---|---|
//! | host, shared by its processes | available memory without swap; control groups of the process and their ancestors |
//! | process | its address space and its data (`ulimit -v`, `ulimit -d`) |
//!
//! Limits are read only on Linux (control groups of versions 1 and 2), without trial allocations. Unreported limits and
//! other programs' later allocations are ignored.

use std::path::{Path, PathBuf};

const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes left on this host without swapping; `None` if unknown.
pub fn of_host() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let free = kilobytes(&text, "MemAvailable:")?;
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(in_groups(&own, Path::new(GROUPS)).map_or(free, |allowed| allowed.min(free)))
}

/// Bytes left for this process, and the limit that applies; `None` without a limit.
pub fn of_process() -> Option<(u64, &'static str)> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, getrlimit};
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let limits = [
            (Resource::As, "VmSize:", "the limit of its address space (ulimit -v)"),
            (Resource::Data, "VmData:", "the limit of its data (ulimit -d)"),
        ];
        let left = limits.into_iter().filter_map(|(resource, used, name)| {
            let limit = getrlimit(resource).current?;
            Some((limit.saturating_sub(kilobytes(&status, used).unwrap_or(0)), name))
        });
        left.min()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// The limit for plans if a rank has these bytes. It has steps, so similar bytes give one plan.
pub fn limit_within(bytes: u64) -> u64 {
    let most = bytes / 8 * 7;
    let step = (most / 4).next_power_of_two().max(2) / 2;
    most / step * step
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The fewest bytes left in any control group; `own` is the `cgroup` file.
fn in_groups(own: &str, mounted: &Path) -> Option<u64> {
    own.lines().flat_map(|line| groups(line, mounted)).filter_map(|(folder, version)| left(&folder, version)).min()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The groups' directories for a line of the `cgroup` file such as `0::/user/run`, innermost first.
fn groups(line: &str, mounted: &Path) -> Vec<(PathBuf, Version)> {
    let mut fields = line.splitn(3, ':');
    let (Some(number), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
        return Vec::new();
    };
    let (root, version) = match (number, controllers) {
        ("0", "") => (mounted.to_path_buf(), Version::Two),
        (_, list) if list.split(',').any(|name| name == "memory") => (mounted.join("memory"), Version::One),
        _ => return Vec::new(),
    };
    // In a container, this path may be relative to the host's mount point, and the own group is at `root`.
    Path::new(path.trim_start_matches('/')).ancestors().map(|path| (root.join(path), version)).collect()
}

/// Bytes left for a group. Cached file pages are free: the system drops them before an allocation fails.
fn left(folder: &Path, version: Version) -> Option<u64> {
    let (limit, used, cached) = match version {
        Version::Two => ("memory.max", "memory.current", ["inactive_file", "active_file"]),
        Version::One => {
            ("memory.limit_in_bytes", "memory.usage_in_bytes", ["total_inactive_file", "total_active_file"])
        }
    };
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let pages = |name: &&str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(*name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let used = number(used)?.saturating_sub(cached.iter().map(pages).sum());
    Some(number(limit)?.saturating_sub(used))
}

#[cfg(test)]
mod tests;
