//! Detects this host's topology once: from hwloc, if built in, Linux's sysfs, or as a flat list of cores.
//!
//! `EINSUM_DIST_TOPOLOGY` overrides it with a text for [`Synthetic`], if it is missing or wrong, and in tests.
//! Distances, devices, and memory without processors are left out.

#[cfg(feature = "hwloc")]
mod hwloc;
#[cfg(target_os = "linux")]
mod sysfs;

use std::sync::OnceLock;

use super::cores::cpus;
use super::{Error, Result};
use crate::machine::{Synthetic, Topology};

/// This host's topology, with all cores that the system allows, regardless of the affinity mask. Cost: tens of
/// milliseconds in the first call.
///
/// # Errors
/// If `EINSUM_DIST_TOPOLOGY` is no topology.
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

/// The topology within this process's affinity mask, if the system has masks.
///
/// # Errors
/// Those of [`topology`].
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
