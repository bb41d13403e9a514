//! Reads the topology from Linux's `/sys` (`docs/placement.md` lists the files). A missing file, as in some containers,
//! loses only its information.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::cores::ranges;
use crate::machine::{Cache, Domain, Topology};

/// `None` if the list of online units is missing.
pub fn probed(root: &Path) -> Option<Topology> {
    let read = |file: &str| Some(std::fs::read_to_string(root.join(file)).ok()?.trim().to_owned());
    let mut units = ranges(&read("sys/devices/system/cpu/online")?);
    if let Some(allowed) = control_group(root) {
        units.retain(|unit| allowed.contains(unit));
    }
    let of = |unit: usize, what: &str| read(&format!("sys/devices/system/cpu/cpu{unit}/topology/{what}"));
    let number = |unit: usize, what: &str| of(unit, what)?.parse::<usize>().ok();
    units.sort_by_cached_key(|&unit| (number(unit, "physical_package_id"), number(unit, "core_id"), unit));
    let cores = |units: &[usize]| {
        let mut cores: Vec<Vec<usize>> = Vec::new();
        let mut known: BTreeMap<usize, usize> = BTreeMap::new();
        for &unit in units {
            // A core is identified by its first unit, even if not allowed.
            let first =
                of(unit, "thread_siblings_list").and_then(|list| ranges(&list).into_iter().min()).unwrap_or(unit);
            let place = *known.entry(first).or_insert(cores.len());
            if place == cores.len() {
                cores.push(Vec::new());
            }
            cores[place].push(unit);
        }
        cores
    };
    let socket =
        |units: &[usize]| units.iter().filter_map(|&unit| number(unit, "physical_package_id")).min().unwrap_or(0);
    let nodes = read("sys/devices/system/node/online").map(|list| ranges(&list)).unwrap_or_default();
    let domain = |node: usize| {
        let folder = format!("sys/devices/system/node/node{node}");
        let list = ranges(&read(&format!("{folder}/cpulist"))?);
        let own: Vec<usize> = units.iter().copied().filter(|unit| list.contains(unit)).collect();
        let memory = read(&format!("{folder}/meminfo")).and_then(|text| total(&text)).unwrap_or(0);
        Some(Domain { number: node, socket: socket(&own), memory, cores: cores(&own) }).filter(|_| !own.is_empty())
    };
    let mut domains: Vec<Domain> = nodes.into_iter().filter_map(domain).collect();
    if domains.is_empty() {
        domains = vec![Domain { socket: socket(&units), cores: cores(&units), ..Domain::default() }];
    }
    domains.sort_by_key(|domain| (domain.socket, domain.number));
    let caches = (0..8).filter_map(|index| {
        let say = |what: &str| read(&format!("sys/devices/system/cpu/cpu{}/cache/index{index}/{what}", units.first()?));
        let kilobytes: u64 = say("size")?.strip_suffix('K')?.parse().ok()?;
        let cache = Cache { level: say("level")?.parse().ok()?, bytes: kilobytes << 10 };
        (say("type")? != "Instruction").then_some(cache)
    });
    Some(Topology { caches: caches.collect(), domains })
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    Some(line.split_whitespace().rev().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// The units that the control group, or its nearest ancestor with a list, allows.
fn control_group(root: &Path) -> Option<Vec<usize>> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let top = root.join("sys/fs/cgroup");
    let own = top.join(path);
    let inside = own.ancestors().take_while(|folder| folder.starts_with(&top));
    let effective = |folder: &Path| std::fs::read_to_string(folder.join("cpuset.cpus.effective")).ok();
    inside.filter_map(effective).map(|list| ranges(&list)).find(|units| !units.is_empty())
}

#[cfg(test)]
mod tests;
