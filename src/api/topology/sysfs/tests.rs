//! Unit tests of `sysfs`.

use super::*;
use std::path::PathBuf;

/// A temporary root directory with some files. It is removed when this value is dropped.
struct Root(PathBuf);

impl Root {
    fn new(name: &str, files: &[(&str, &str)]) -> Root {
        let root = Root(std::env::temp_dir().join(format!("einsum-dist-{}-{name}", std::process::id())));
        for (file, text) in files {
            let path = root.0.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Tests two sockets with two cores each and two hardware threads per core. The numbers of the two threads of a
/// core differ by four. The control group does not allow the last unit.
#[test]
fn two_domains_of_hardware_threads() {
    let mut files: Vec<(String, String)> = vec![
        ("sys/devices/system/cpu/online".to_owned(), "0-7".to_owned()),
        ("sys/devices/system/node/online".to_owned(), "0-2".to_owned()),
        ("sys/devices/system/node/node0/cpulist".to_owned(), "2-3,6-7".to_owned()),
        (
            "sys/devices/system/node/node0/meminfo".to_owned(),
            "Node 0 MemTotal:  1000 kB\nNode 0 MemFree: 5 kB".to_owned(),
        ),
        ("sys/devices/system/node/node1/cpulist".to_owned(), "0-1,4-5".to_owned()),
        ("sys/devices/system/node/node2/cpulist".to_owned(), String::new()),
        ("proc/self/cgroup".to_owned(), "0::/a/b".to_owned()),
        ("sys/fs/cgroup/a/cpuset.cpus.effective".to_owned(), "0-6".to_owned()),
        ("sys/devices/system/cpu/cpu0/cache/index0/level".to_owned(), "1".to_owned()),
        ("sys/devices/system/cpu/cpu0/cache/index0/type".to_owned(), "Data".to_owned()),
        ("sys/devices/system/cpu/cpu0/cache/index0/size".to_owned(), "48K".to_owned()),
    ];
    for unit in 0..8_usize {
        let folder = format!("sys/devices/system/cpu/cpu{unit}/topology");
        // Sockets and domains are numbered in opposite orders.
        files.push((format!("{folder}/physical_package_id"), (unit % 4 / 2).to_string()));
        files.push((format!("{folder}/core_id"), (unit % 2).to_string()));
        files.push((format!("{folder}/thread_siblings_list"), format!("{},{}", unit % 4, unit % 4 + 4)));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let root = Root::new("sysfs", &files);
    let host = probed(&root.0).unwrap();
    assert_eq!(
        host.domains,
        [
            Domain { number: 1, socket: 0, memory: 0, cores: vec![vec![0, 4], vec![1, 5]] },
            Domain { number: 0, socket: 1, memory: 1_024_000, cores: vec![vec![2, 6], vec![3]] },
        ]
    );
    assert_eq!(host.caches, [Cache { level: 1, bytes: 48 << 10 }]);
}

#[test]
fn a_system_that_tells_little() {
    let root = Root::new("sysfs-little", &[("sys/devices/system/cpu/online", "0,2-3")]);
    assert_eq!(probed(&root.0), Some(Topology::flat(&[0, 2, 3])));
    assert_eq!(probed(&root.0.join("nowhere")), None);
}
