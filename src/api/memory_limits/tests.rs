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
