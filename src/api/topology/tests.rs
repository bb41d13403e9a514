//! Unit tests of `topology`.

use super::*;

#[test]
fn this_process_has_cores() {
    let (all, mine) = (topology().unwrap(), allowed().unwrap());
    assert!(mine.cores() >= 1 && mine.cores() <= all.cores(), "{mine} of {all}");
    let units: Vec<usize> = mine.domains.iter().flat_map(|domain| &domain.cores).flatten().copied().collect();
    let cpus = cpus();
    assert!(cpus.is_empty() || units.len() == cpus.len(), "{units:?} of {cpus:?}");
}

/// Tests that hwloc and sysfs give the same topology.
#[test]
#[cfg(all(feature = "hwloc", target_os = "linux"))]
fn hwloc_and_linux_agree() {
    let (by_hwloc, by_linux) = (hwloc::probed().unwrap(), sysfs::probed(std::path::Path::new("/")).unwrap());
    let cores = |topology: &Topology| {
        let sorted = |mut cores: Vec<Vec<usize>>| {
            cores.sort();
            cores
        };
        let domains = topology.domains.iter().map(|domain| (domain.number, sorted(domain.cores.clone())));
        domains.collect::<std::collections::BTreeMap<_, _>>()
    };
    assert_eq!(cores(&by_hwloc), cores(&by_linux));
    assert_eq!(by_hwloc.caches, by_linux.caches);
}
