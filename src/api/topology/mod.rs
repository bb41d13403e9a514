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
mod tests;
