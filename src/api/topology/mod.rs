//! Detects the topology of this host once. The topology is read from hwloc if the build includes hwloc, otherwise from
//! Linux's sysfs. If neither is possible, the topology is a flat list of cores.
//!
//! The variable `EINSUM_DIST_TOPOLOGY` overrides the detected topology. Its value is a text that [`Synthetic`] parses.
//! The variable is meant for tests, and for systems that report no topology or a wrong one. All sources identify cores
//! and domains by the operating system's numbers. The topology does not include distances, devices, or memory without
//! processors.

#[cfg(feature = "hwloc")]
mod hwloc;
#[cfg(target_os = "linux")]
mod sysfs;

use std::sync::OnceLock;

use super::cores::cpus;
use super::{Error, Result};
use crate::machine::{Synthetic, Topology};

/// The topology of this host, with all cores that the system allows this process to use, regardless of its affinity
/// mask. Cost: The first call needs tens of milliseconds.
///
/// # Errors
/// If `EINSUM_DIST_TOPOLOGY` is not a topology.
pub fn topology() -> Result<&'static Topology> {
    static TOPOLOGY: OnceLock<std::result::Result<Topology, String>> = OnceLock::new();
    let found = TOPOLOGY.get_or_init(|| match std::env::var("EINSUM_DIST_TOPOLOGY") {
        Ok(text) => match text.parse::<Synthetic>() {
            Ok(synthetic) => Ok(synthetic.topology()),
            Err(error) => Err(format!("EINSUM_DIST_TOPOLOGY: {error}")),
        },
        Err(_) => Ok(probed()),
    });
    found.as_ref().map_err(|error| Error::Usage(error.clone()))
}

/// The topology, restricted to this process's affinity mask; not restricted if the system has no affinity masks.
///
/// # Errors
/// The same as for [`topology`].
pub fn allowed() -> Result<Topology> {
    let all = topology()?;
    Ok(match cpus().as_slice() {
        [] => all.clone(),
        mask => all.restricted(mask),
    })
}

fn probed() -> Topology {
    #[cfg(feature = "hwloc")]
    if let Some(topology) = hwloc::probed() {
        return topology;
    }
    #[cfg(target_os = "linux")]
    if let Some(topology) = sysfs::probed(std::path::Path::new("/")) {
        return topology;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Topology::flat(&(0..cores).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
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
}
