//! Reads the topology from hwloc.
//!
//! No other file uses hwloc.

use hwlocality::Topology as Hwloc;
use hwlocality::cpu::cpuset::CpuSet;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;

use crate::machine::{Cache, Domain, Topology};

/// `None` if hwloc fails or finds no cores.
pub fn probed() -> Option<Topology> {
    Some(topology(&Hwloc::new().ok()?)).filter(|topology| topology.cores() > 0)
}

fn topology(hwloc: &Hwloc) -> Topology {
    let mut domains: Vec<Domain> = Vec::new();
    let inside = |kind: ObjectType, set: &CpuSet| {
        hwloc.objects_with_type(kind).filter(move |object| object.is_inside_cpuset(set)).collect::<Vec<_>>()
    };
    for node in hwloc.objects_with_type(ObjectType::NUMANode) {
        let Some(set) = node.cpuset().map(|set| set.clone_target()) else { continue };
        // Some NUMA nodes have memory but no processors.
        let mut cores: Vec<Vec<usize>> = inside(ObjectType::Core, &set).into_iter().map(units).collect();
        if cores.is_empty() {
            cores = inside(ObjectType::PU, &set).into_iter().map(units).collect();
        }
        if cores.is_empty() {
            continue;
        }
        let above = node.first_ancestor_with_type(ObjectType::Package);
        let socket = above.or_else(|| inside(ObjectType::Package, &set).first().copied());
        let memory = match node.attributes() {
            Some(ObjectAttributes::NUMANode(node)) => node.local_memory().map_or(0, u64::from),
            _ => 0,
        };
        let number = |object: &TopologyObject| object.os_index().unwrap_or(object.logical_index());
        domains.push(Domain { number: number(node), socket: socket.map_or(0, number), memory, cores });
    }
    let domains = disjoint(domains);
    let levels =
        [ObjectType::L1Cache, ObjectType::L2Cache, ObjectType::L3Cache, ObjectType::L4Cache, ObjectType::L5Cache];
    let first = levels.into_iter().filter_map(|level| hwloc.objects_with_type(level).next()?.attributes());
    let cache = |attributes| match attributes {
        ObjectAttributes::Cache(cache) => Some(Cache { level: cache.depth(), bytes: cache.size()?.into() }),
        _ => None,
    };
    Topology { domains, caches: first.filter_map(cache).collect() }
}

/// Of domains with a common core, keeps the smallest, or the first of these: a processor's first memory is the main
/// one, and a memory without processors is local to several domains.
fn disjoint(domains: Vec<Domain>) -> Vec<Domain> {
    let mut by_size: Vec<(usize, Domain)> = domains.into_iter().enumerate().collect();
    by_size.sort_by_key(|(_, domain)| domain.cores.len());
    let mut kept: Vec<(usize, Domain)> = Vec::new();
    for (at, domain) in by_size {
        if kept.iter().all(|(_, other)| domain.cores.iter().all(|core| !other.cores.contains(core))) {
            kept.push((at, domain));
        }
    }
    kept.sort_by_key(|(at, _)| *at);
    kept.into_iter().map(|(_, domain)| domain).collect()
}

fn units(object: &TopologyObject) -> Vec<usize> {
    object.cpuset().map(|set| set.iter_set().map(usize::from).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
