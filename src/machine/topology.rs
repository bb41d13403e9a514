//! A host's NUMA domains, cores, processing units (hardware threads), caches and memory.
//!
//! Invariants: cores share no unit; domains and cores are sorted, so that neighbors in hardware are adjacent.

use std::collections::BTreeSet;
use std::fmt;

/// A host, or the part that a process may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    /// In order of sockets.
    pub domains: Vec<Domain>,
    /// By ascending level; empty if unknown.
    pub caches: Vec<Cache>,
}

/// A NUMA domain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Domain {
    /// The operating system's number.
    pub number: usize,
    /// Its first socket's number.
    pub socket: usize,
    /// Bytes; 0 if unknown.
    pub memory: u64,
    /// Each core's processing units, by the operating system's numbers.
    pub cores: Vec<Vec<usize>>,
}

/// One level's caches, all of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest to cores.
    pub level: usize,
    /// Bytes in one cache.
    pub bytes: u64,
}

impl Topology {
    /// A domain with each of `units` as a core.
    pub fn flat(units: &[usize]) -> Topology {
        let cores = units.iter().map(|&unit| vec![unit]).collect();
        Topology { domains: vec![Domain { cores, ..Domain::default() }], caches: Vec::new() }
    }

    /// The part that an affinity mask allows, without empty cores and domains.
    #[must_use]
    pub fn restricted(&self, allowed: &[usize]) -> Topology {
        let allowed: BTreeSet<&usize> = allowed.iter().collect();
        let mut left = self.clone();
        for domain in &mut left.domains {
            domain.cores.iter_mut().for_each(|core| core.retain(|unit| allowed.contains(unit)));
            domain.cores.retain(|core| !core.is_empty());
        }
        left.domains.retain(|domain| !domain.cores.is_empty());
        left
    }

    /// The number of cores.
    pub fn cores(&self) -> usize {
        self.domains.iter().map(|domain| domain.cores.len()).sum()
    }
}

/// On one line.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let sockets: BTreeSet<usize> = self.domains.iter().map(|domain| domain.socket).collect();
        let units = self.domains.iter().flat_map(|domain| &domain.cores).map(Vec::len).sum::<usize>();
        write!(f, "{}, ", counted(sockets.len(), "socket"))?;
        write!(f, "{}, ", counted(self.domains.len(), "NUMA domain"))?;
        write!(f, "{}", counted(self.cores(), "core"))?;
        if units > self.cores() {
            write!(f, " of {} together", counted(units, "hardware thread"))?;
        }
        let memory: u64 = self.domains.iter().map(|domain| domain.memory).sum();
        if memory > 0 {
            write!(f, ", {:.0} GB", memory as f64 / 1e9)?;
        }
        self.caches.iter().try_for_each(|&Cache { level, bytes }| {
            let (size, unit) = if bytes.is_multiple_of(1 << 20) { (bytes >> 20, "MiB") } else { (bytes >> 10, "KiB") };
            write!(f, ", L{level} {size} {unit}")
        })
    }
}

#[cfg(test)]
mod tests;
