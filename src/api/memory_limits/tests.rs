//! Unit tests of `memory_limits`.

use super::*;

fn group(folder: &Path, files: &[(&str, &str)]) {
    std::fs::create_dir_all(folder).unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
}

#[test]
fn the_narrowest_of_all_groups_counts() {
    let folder = std::env::temp_dir().join(format!("einsum-dist-groups-{}", std::process::id()));
    group(&folder.join("a/b"), &[("memory.max", "max\n"), ("memory.current", "70\n")]);
    group(
        &folder.join("a"),
        &[("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", "anon 5\ninactive_file 300\n")],
    );
    group(&folder.join("memory/x"), &[("memory.limit_in_bytes", "350\n"), ("memory.usage_in_bytes", "100\n")]);
    assert_eq!(in_groups("0::/a/b\n", &folder), Some(400));
    assert_eq!(in_groups("3:cpu:/a\n4:memory,pids:/x\n0::/a/b\n", &folder), Some(250));
    assert_eq!(in_groups("0::/elsewhere\n", &folder), None);
    assert_eq!(in_groups("", &folder), None);
    group(&folder, &[("memory.max", "50"), ("memory.current", "60")]);
    assert_eq!(in_groups("0::/of/its/host\n", &folder), Some(0));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn this_host_has_memory() {
    assert!(of_host() > Some(1 << 20));
    assert_eq!(kilobytes("VmPeak:\t 5 kB\nVmSize:\t  12 kB\n", "VmSize:"), Some(12 << 10));
}

#[test]
fn slightly_different_memory_has_the_same_limit() {
    assert_eq!(limit_within(24_569_196_544), 20 << 30);
    assert_eq!(limit_within(25_000_000_000), limit_within(27_000_000_000));
    assert_eq!([0, 1, 8, 100, u64::MAX].map(limit_within), [0, 0, 7, 80, 6 << 61]);
    for bytes in (1..2000).chain((1..2000).map(|n| n << 30)) {
        let limit = limit_within(bytes);
        assert!(limit <= bytes && limit as f64 >= (bytes / 8 * 7) as f64 * 0.8, "{bytes}: {limit}");
    }
}
