//! The machine for which a plan is made.
//!
//! A plan depends on a machine only through this value, so a laptop can plan for a cluster. Default rates are typical
//! of a server core; [`World::machine`](crate::World::machine) returns this host's.

mod limits;
mod network;
mod placement;
mod synthetic;
mod topology;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use limits::{MAX_RANKS, MAX_WORKERS};
pub use placement::{Placement, RankPlacement, Warning, listed};
pub use synthetic::Synthetic;
pub use topology::{Cache, Domain, Topology};

/// A transfer between two ranks costs `latency` + bytes / `bandwidth`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Bytes per second.
    pub bandwidth: f64,
    /// Seconds per transfer of any size.
    pub latency: f64,
}

/// The ranks, workers and rates of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Ranks in a run.
    pub ranks: usize,
    /// Compute threads per rank.
    pub workers: usize,
    /// Operations per second and worker in single precision, twice those in double precision.
    pub flops: f64,
    /// Bytes per second that one worker accesses in memory.
    pub memory_bandwidth: f64,
    /// Rates for cached tensors. Each entry, in ascending order, has the bytes of all tensors of a rank, and the bytes
    /// that one worker accesses per second.
    pub copy_rates: Vec<[f64; 2]>,
    /// Bytes per second that one rank receives from another node, or from any rank if all links are equal (see
    /// [`Machine::ranks_per_node`]), while no other rank communicates.
    pub link_bandwidth: f64,
    /// Fixed seconds per transfer at `link_bandwidth`.
    pub link_latency: f64,
    /// Consecutive ranks on each node; 1 if all links are equal.
    pub ranks_per_node: usize,
    /// Bytes per second that one rank receives on its node.
    pub node_bandwidth: f64,
    /// Fixed seconds per transfer at `node_bandwidth`.
    pub node_latency: f64,
    /// Bytes per second in each direction that a node's ranks exchange with other nodes together; by default, ranks do
    /// not share links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_link_bandwidth: Option<f64>,
    /// Bytes per second in each direction between the first and the second half of the nodes; by default, no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bisection_bandwidth: Option<f64>,
    /// Additional seconds of every run.
    #[serde(rename = "start", alias = "startup_seconds")]
    pub startup_seconds: f64,
    /// Additional seconds of a process's first run, without those of new memory.
    pub first_run_seconds: f64,
    /// Bytes of new memory that one worker accesses per second for the first time.
    pub new_memory_bandwidth: f64,
    /// Additional seconds of a run on several ranks, which begins when the last has woken up.
    #[serde(alias = "together")]
    pub sync_overhead: f64,
    /// A rank's speed of contractions alone, relative to that while all contract. It exceeds 1 if ranks compete for
    /// clock frequency, caches, memory or cores.
    #[serde(alias = "alone")]
    pub solo_speedup: f64,
    /// The computing time that an overlapped transfer costs, for memory bandwidth and possibly cores, relative to its
    /// time. It exceeds 1 without a spare core. With the cautious default of 1, overlap saves no time.
    pub interference: f64,
    /// Rates for small products, which are slower. Each entry, in ascending order, has a cube's side, and one worker's
    /// operations per second on products of its volume.
    pub block_rates: Vec<[f64; 2]>,
    /// Each rank's speed of contractions relative to the mean; empty if equal.
    pub speeds: Vec<f64>,
    /// A host's topology, which determines the placement of ranks, but no rate. It makes the default one rank per NUMA
    /// domain, and one worker on each of its cores but one for communication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Synthetic>,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            ranks: 1,
            workers: 1,
            flops: 8e10,
            memory_bandwidth: 1e10,
            copy_rates: Vec::new(),
            link_bandwidth: 4e9,
            link_latency: 1e-5,
            ranks_per_node: 1,
            node_bandwidth: 4e9,
            node_latency: 1e-5,
            node_link_bandwidth: None,
            bisection_bandwidth: None,
            startup_seconds: 0.0,
            first_run_seconds: 0.0,
            new_memory_bandwidth: 1e10,
            sync_overhead: 0.0,
            solo_speedup: 1.0,
            interference: 1.0,
            block_rates: Vec::new(),
            speeds: Vec::new(),
            topology: None,
        }
    }
}

impl Machine {
    /// A machine with default rates.
    pub fn new(ranks: usize, workers: usize) -> Machine {
        Machine { ranks, workers, ..Machine::default() }
    }

    /// One worker's operations per second on products with this cube's volume. Beyond the largest side in
    /// [`Machine::block_rates`], it is [`Machine::flops`].
    pub fn rate(&self, side: f64) -> f64 {
        let smallest = self.block_rates.first().map_or(side, |[smallest, _]| *smallest);
        // Below the smallest side, the rate is proportional to it.
        interpolated(&self.block_rates, side, self.flops) * (side.max(1.0) / smallest).min(1.0)
    }

    /// Bytes per second that one worker accesses if a rank's tensors have `bytes` bytes: [`Machine::copy_rates`],
    /// beyond them [`Machine::memory_bandwidth`].
    pub fn bandwidth(&self, bytes: f64) -> f64 {
        interpolated(&self.copy_rates, bytes, self.memory_bandwidth)
    }

    /// The link between two ranks while no others communicate.
    pub fn link(&self, one: usize, other: usize) -> Link {
        let per_node = self.ranks_per_node.max(1);
        if per_node > 1 && one / per_node == other / per_node { self.near() } else { self.far() }
    }

    /// Between a node's ranks, if nodes have several.
    fn near(&self) -> Link {
        Link { bandwidth: self.node_bandwidth, latency: self.node_latency }
    }

    /// Between nodes, or any ranks if all links are equal.
    fn far(&self) -> Link {
        Link { bandwidth: self.link_bandwidth, latency: self.link_latency }
    }

    /// The machine of only these ranks, with their part of what all ranks share.
    #[must_use]
    pub fn part(&self, ranks: Range<usize>) -> Machine {
        // Other ranks also compute, so none contracts alone.
        let solo_speedup = if ranks.len() == self.ranks { self.solo_speedup } else { 1.0 };
        let per_node = self.ranks_per_node.max(1);
        let within = per_node > 1 && !ranks.is_empty() && ranks.start / per_node == (ranks.end - 1) / per_node;
        let whole_nodes = !within && ranks.start.is_multiple_of(per_node);
        let Link { bandwidth, latency } = if within { self.near() } else { self.far() };
        let share = if whole_nodes { 1.0 } else { per_node as f64 };
        Machine {
            ranks: ranks.len(),
            node_link_bandwidth: self.node_link_bandwidth.filter(|_| !within).map(|all| all / share),
            bisection_bandwidth: self.bisection_of(ranks.len()).filter(|_| !within),
            link_bandwidth: bandwidth,
            link_latency: latency,
            ranks_per_node: if whole_nodes { per_node } else { 1 },
            solo_speedup,
            speeds: self.speeds.get(ranks).map(<[f64]>::to_vec).unwrap_or_default(),
            ..self.clone()
        }
    }

    /// A host's topology and the placement of its ranks, if given.
    pub fn placement(&self) -> Option<(Topology, Placement)> {
        let topology = self.topology.as_ref()?.topology();
        let placement = topology.place(self.ranks_of_host(), self.workers, self.ranks > 1);
        Some((topology, placement))
    }

    /// Ranks on the first host; all if all links are equal.
    fn ranks_of_host(&self) -> usize {
        if self.ranks_per_node > 1 { self.ranks_per_node.min(self.ranks) } else { self.ranks }
    }

    /// A rank's speed of contractions relative to the mean.
    pub fn speed(&self, rank: usize) -> f64 {
        self.speeds.get(rank).copied().unwrap_or(1.0)
    }

    /// A rank's multiply-adds while it receives an element of `bytes` bytes at [`Machine::busy_bandwidth`].
    pub fn balance(&self, bytes: usize) -> u64 {
        (self.flops * self.workers as f64 / 2.0 * bytes as f64 / self.busy_bandwidth()).max(1.0) as u64
    }
}

/// Interpolates logarithms linearly; the rate is that of the smallest size below it, and `beyond` above the largest.
fn interpolated(rates: &[[f64; 2]], size: f64, beyond: f64) -> f64 {
    match (rates.iter().rfind(|entry| entry[0] < size), rates.iter().find(|entry| entry[0] >= size)) {
        (_, None) => beyond,
        (None, Some([_, rate])) => *rate,
        (Some([low, slow]), Some([high, fast])) => {
            slow * (fast / slow).powf((size.ln() - low.ln()) / (high.ln() - low.ln()))
        }
    }
}

impl Machine {
    /// Reads a machine. Missing entries are those of [`Machine::default`], except that a topology determines missing
    /// numbers of ranks and workers.
    ///
    /// # Errors
    /// If the text is not TOML, has unknown names, or has numbers that [`Machine::check`] rejects.
    pub fn from_toml(text: &str) -> Result<Machine, String> {
        Machine::from_toml_with(text, None)
    }

    /// Like [`Machine::from_toml`], with any `ranks` instead of the text's; `bisection_bandwidth` grows in proportion.
    ///
    /// # Errors
    /// The same as for [`Machine::from_toml`].
    pub fn from_toml_with(text: &str, ranks: Option<usize>) -> Result<Machine, String> {
        let failed = |error: toml::de::Error| error.to_string().trim_end().to_owned();
        let mut machine: Machine = toml::from_str(text).map_err(failed)?;
        let table: toml::Table = toml::from_str(text).map_err(failed)?;
        let topology = machine.topology.as_ref().map(Synthetic::topology);
        if let (Some(topology), false) = (&topology, table.contains_key("ranks")) {
            machine.ranks = topology.ranks();
        }
        if ![0, machine.ranks].contains(&machine.speeds.len()) {
            return Err(format!("speeds are one for each of {} ranks, all above 0, or none", machine.ranks));
        }
        if let Some(ranks) = ranks {
            if table.contains_key("ranks") || topology.is_some() {
                machine.bisection_bandwidth = machine.bisection_of(ranks);
            }
            machine.ranks = ranks;
        }
        machine.check()?;
        if let (Some(topology), false) = (&topology, table.contains_key("workers")) {
            machine.workers = topology.workers(machine.ranks_of_host(), machine.ranks > 1);
        }
        Ok(machine)
    }

    /// Writes what [`Machine::from_toml`] reads.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}
