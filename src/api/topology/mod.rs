//! What this host is made of, found out once: by hwloc where the build has it, else from Linux, else all cores alike.
//!
//! `EINSUM_DIST_TOPOLOGY` says it instead, as text that [`Synthetic`] reads: for systems that do not tell, or tell wrong, and for
//! tests. Invariant: whoever found it out, cores and domains are numbered as the system numbers them. Deliberately absent: distances,
//! devices, and memory that is no processor's own.

#[cfg(feature = "hwloc")]
mod hwloc;
#[cfg(target_os = "linux")]
mod sysfs;

use std::sync::OnceLock;

use super::{Error, Result, host};
use crate::machine::{Synthetic, Topology};

/// The cores of this host that its system lets this process have, whatever the affinity mask says. Cost: tens of milliseconds for the
/// first caller.
///
/// # Errors
/// `EINSUM_DIST_TOPOLOGY` is no topology.
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

/// What the affinity mask of this process leaves of it; all of it where the system has no such masks.
///
/// # Errors
/// As [`topology`].
pub fn allowed() -> Result<Topology> {
    let all = topology()?;
    Ok(match host::cpus().as_slice() {
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
        let cpus = host::cpus();
        assert!(cpus.is_empty() || units.len() == cpus.len(), "{units:?} of {cpus:?}");
    }

    /// Both ways of asking Linux come to the same.
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
