//! Assigns a host's cores to its ranks and their threads. The assignment is a pure function of the topology, the
//! numbers of ranks and workers, and whether ranks communicate.
//!
//! ```text
//! two domains of four cores      0 1 2 3 | 4 5 6 7
//! two ranks of three workers     w w w c | w w w c      w: worker, c: communication thread
//! three ranks of one worker      w c|w c | . . . .      two ranks share the first domain; the threads of the
//!                                                       third rank may use any core of the second domain
//! one rank of eight workers      w w w w | w w w w      the rank straddles both domains
//! ```
//!
//! The ranks on a host occupy its domains in order. The number of ranks in a domain is roughly proportional to the
//! domain's number of cores. Every domain has at least one rank if there are enough ranks. Ranks in the same domain
//! have about the same number of cores, which are adjacent. All ranks have the same number of workers, so a rank with
//! more cores than the smallest rank leaves cores idle. If more than a quarter of the host's cores would be idle, all
//! cores are instead divided evenly across domain boundaries. Invariant: at most one worker is bound to a core, however
//! many hardware threads the core has.
//!
//! If any rank in a domain has fewer cores than workers, no rank in that domain has cores of its own. The operating
//! system then places the threads of these ranks on any cores of the domain. The operating system also places the
//! threads of a rank that has more cores than threads. If these threads were bound, two small concurrent runs would
//! share some cores of the host while other cores are idle.
//!
//! This module only computes the assignment; the threads bind themselves to their cores.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::topology::{Domain, Topology};

/// Maximum number of ranks in a printed list of placements.
const MAX_LISTED_RANKS: usize = 64;

/// The placement of one rank. Processing units and domains have the operating system's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankPlacement {
    /// The NUMA domains of the rank; several if the rank straddles domains.
    pub domains: Vec<usize>,
    /// Processing units that the rank's threads may use, in ascending order; empty if no thread is bound.
    pub units: Vec<usize>,
    /// The processing unit of each worker; empty if the operating system chooses among `units`.
    pub workers: Vec<usize>,
    /// The processing unit of the communication thread; `None` if that thread is not bound to a single unit.
    pub communication: Option<usize>,
    /// Whether one of the rank's cores is left free for communication, even if no thread is bound to that core.
    pub spare: bool,
}

/// The placement of all ranks on a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// The placement of each rank, in order of ranks.
    pub places: Vec<RankPlacement>,
    /// Reasons why ranks are slow, in order of ranks.
    pub warnings: Vec<Warning>,
}

/// A reason why a rank is slow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The rank has fewer cores than workers.
    Starved {
        /// The number of the rank among the ranks on the host.
        rank: usize,
        /// Among the ranks in the same domains, the number of cores of the rank with the fewest cores.
        cores: usize,
        /// The number of workers requested.
        workers: usize,
    },
    /// The rank's workers are in several NUMA domains.
    Straddles {
        /// The number of the rank among the ranks on the host.
        rank: usize,
        /// The numbers of the domains.
        domains: Vec<usize>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Starved { rank, cores, workers } => {
                let [of_workers, of_cores] = [workers, cores].map(|&count| if count == 1 { "" } else { "s" });
                write!(f, "rank {rank} has {workers} worker{of_workers} and {cores} core{of_cores} of its own")
            }
            Warning::Straddles { rank, domains } => {
                write!(f, "rank {rank} straddles NUMA domains {}", ranges(domains))
            }
        }
    }
}

/// Returns one line for each rank, up to `MAX_LISTED_RANKS` ranks.
pub fn listed(places: &[RankPlacement]) -> impl Iterator<Item = String> {
    let more = places.len().saturating_sub(MAX_LISTED_RANKS);
    let lines = places.iter().take(MAX_LISTED_RANKS).enumerate().map(|(rank, place)| format!("rank {rank}: {place}"));
    lines.chain((more > 0).then(|| format!("and {more} more")))
}

impl fmt::Display for RankPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.domains.as_slice() {
            [] => return f.write_str("where the system likes"),
            [domain] => write!(f, "NUMA domain {domain}")?,
            several => write!(f, "NUMA domains {}", ranges(several))?,
        }
        if self.workers.is_empty() {
            return write!(f, ", all threads on {}", ranges(&self.units));
        }
        write!(f, ", workers on {}", ranges(&self.workers))?;
        self.communication.map_or(Ok(()), |unit| write!(f, ", communication on {unit}"))
    }
}

/// Formats ascending numbers as ranges, such as `0-3,8`.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    let run = |run: &Range<usize>| match run.len() {
        1 => run.start.to_string(),
        _ => format!("{}-{}", run.start, run.end - 1),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

/// The cores that one rank has in a topology.
struct RankShare<'a> {
    domains: &'a [Domain],
    cores: Vec<&'a Vec<usize>>,
    /// Among the ranks in these domains, the number of cores of the rank with the fewest cores.
    least: usize,
}

impl Topology {
    /// Default number of ranks for a process that may use the whole topology; at most one rank per domain. All ranks
    /// have the same number of workers, so with one rank per domain, a small domain can leave most cores of larger
    /// domains idle. The number of cores in use therefore depends on the number of ranks. The result is the largest
    /// number of ranks that can use at least nine tenths of the maximum number of cores.
    pub fn ranks(&self) -> usize {
        self.ranks_within(self.cores())
    }

    /// Like [`Topology::ranks`], but for a process whose CPU quota allows only `processors` processors. The result is
    /// at most `processors`.
    ///
    /// ```
    /// use einsum_dist::machine::Synthetic;
    /// let grace = "pack:2 numa:1 core:72".parse::<Synthetic>()?.topology();
    /// assert_eq!((grace.ranks_within(144), grace.ranks_within(1)), (2, 1));
    /// # Ok::<(), String>(())
    /// ```
    pub fn ranks_within(&self, processors: usize) -> usize {
        let max_ranks = self.domains.len().min(processors).max(1);
        let busy = |ranks: usize| (ranks * self.least_within(ranks)).min(processors);
        let best = (1..=max_ranks).map(busy).max().unwrap_or(0);
        (1..=max_ranks).rev().find(|&ranks| 10 * busy(ranks) >= 9 * best).unwrap_or(1)
    }

    /// Default number of workers per rank if `ranks` ranks share the topology. The default is the number of cores of
    /// the rank with the fewest cores. If ranks `communicate` and all have at least two cores, the number of workers is
    /// one lower, to leave a core for communication.
    ///
    /// ```
    /// use einsum_dist::machine::Synthetic;
    /// let grace = "pack:2 numa:1 core:72".parse::<Synthetic>()?.topology();
    /// assert_eq!((grace.workers(1, false), grace.workers(2, true), grace.workers(144, true)), (144, 71, 1));
    /// # Ok::<(), String>(())
    /// ```
    pub fn workers(&self, ranks: usize, communicate: bool) -> usize {
        if ranks > self.cores() {
            return 1;
        }
        let least = self.least(ranks);
        if communicate && least > 1 { least - 1 } else { least.max(1) }
    }

    /// The number of cores of the rank with the fewest cores.
    fn least(&self, ranks: usize) -> usize {
        smallest_share(&self.shares(ranks))
    }

    /// The number of cores of the rank with the fewest cores, if every rank has either whole domains or cores in a
    /// single domain.
    fn least_within(&self, ranks: usize) -> usize {
        smallest_share(&self.shares_within(ranks))
    }

    /// Places `ranks` ranks on the topology. Each rank has `workers` workers, and one more thread if ranks
    /// `communicate`.
    pub fn place(&self, ranks: usize, workers: usize, communicate: bool) -> Placement {
        let mut placement = Placement::default();
        for (rank, RankShare { domains, cores, least }) in self.shares(ranks).into_iter().enumerate() {
            let (starved, threads) = (least < workers, workers + usize::from(communicate));
            let mut place = RankPlacement {
                domains: domains.iter().map(|domain| domain.number).collect(),
                ..RankPlacement::default()
            };
            place.units = units_of(&if starved { cores_of(domains) } else { cores.clone() });
            place.spare = !starved && communicate && threads <= cores.len();
            if starved {
                placement.warnings.push(Warning::Starved { rank, cores: least, workers });
            } else if threads >= cores.len() {
                let first = |core: &&Vec<usize>| core.iter().copied().min();
                place.workers = cores.iter().take(workers).filter_map(first).collect();
                place.communication = cores.get(workers).filter(|_| communicate).and_then(first);
            }
            if domains.len() > 1 {
                placement.warnings.push(Warning::Straddles { rank, domains: place.domains.clone() });
            }
            placement.places.push(place);
        }
        placement
    }

    /// Returns the range of domains for each rank if there are fewer ranks than domains. Each rank is assigned one or
    /// more whole, consecutive domains, so that all ranks have about the same number of cores.
    fn runs(&self, ranks: usize) -> Vec<Range<usize>> {
        let ends: Vec<usize> = self
            .domains
            .iter()
            .scan(0, |end, domain| {
                *end += domain.cores.len();
                Some(*end)
            })
            .collect();
        let (count, mut start) = (ends.len(), 0);
        let run = |rank: usize| {
            let last = count - (ranks - 1 - rank);
            let off = |&end: &usize| (ends[end - 1] * ranks).abs_diff(self.cores() * (rank + 1));
            let end = (start + 1..=last).min_by_key(off).unwrap_or(last);
            std::mem::replace(&mut start, end)..end
        };
        (0..ranks).map(run).collect()
    }

    /// Returns the domains of each rank, and the rank's cores in those domains. Cores are divided across domain
    /// boundaries only if more than a quarter of the cores would otherwise be idle.
    fn shares(&self, ranks: usize) -> Vec<RankShare<'_>> {
        let (within, even) = (self.shares_within(ranks), self.cores() / ranks.max(1));
        if 4 * smallest_share(&within) >= 3 * even { within } else { self.shares_across(ranks) }
    }

    /// Divides all cores evenly among the ranks, in order, across domain boundaries.
    fn shares_across(&self, ranks: usize) -> Vec<RankShare<'_>> {
        let cores = cores_of(&self.domains);
        let owners: Vec<usize> =
            self.domains.iter().enumerate().flat_map(|(at, domain)| vec![at; domain.cores.len()]).collect();
        let share = |rank: usize| {
            let part = rank * cores.len() / ranks..(rank + 1) * cores.len() / ranks;
            let domains = &self.domains[owners[part.start]..=owners[part.end - 1]];
            RankShare { domains, cores: cores[part].to_vec(), least: cores.len() / ranks }
        };
        (0..ranks).map(share).collect()
    }

    /// Assigns each rank either whole domains or cores in a single domain.
    fn shares_within(&self, ranks: usize) -> Vec<RankShare<'_>> {
        let count = self.domains.len();
        if ranks < count {
            let share = |domains| {
                let cores = cores_of(domains);
                RankShare { domains, least: cores.len(), cores }
            };
            return self.runs(ranks).into_iter().map(|run| share(&self.domains[run])).collect();
        }
        if count == 0 {
            return (0..ranks).map(|_| RankShare { domains: &[], cores: Vec::new(), least: 0 }).collect();
        }
        let mut members = vec![1; count];
        for _ in count..ranks {
            // Adds a rank to the domain that has the most cores per rank after the addition. Ties are resolved in favor
            // of the first domain.
            let cores = |domain: usize| self.domains[domain].cores.len();
            let each = |a: usize, b: usize| (cores(a) * (members[b] + 1)).cmp(&(cores(b) * (members[a] + 1)));
            let next = (0..count).max_by(|&a, &b| each(a, b).then(b.cmp(&a))).unwrap_or(0);
            members[next] += 1;
        }
        let shares = self.domains.chunks(1).zip(members).flat_map(|(domains, members)| {
            let cores = cores_of(domains);
            (0..members).map(move |rank| {
                let part = rank * cores.len() / members..(rank + 1) * cores.len() / members;
                RankShare { domains, cores: cores[part].to_vec(), least: cores.len() / members }
            })
        });
        shares.collect()
    }
}

fn smallest_share(shares: &[RankShare<'_>]) -> usize {
    shares.iter().map(|share| share.cores.len()).min().unwrap_or(0)
}

/// Returns the units of all given cores, in ascending order.
fn units_of(cores: &[&Vec<usize>]) -> Vec<usize> {
    let mut units: Vec<usize> = cores.iter().copied().flatten().copied().collect();
    units.sort_unstable();
    units
}

fn cores_of(domains: &[Domain]) -> Vec<&Vec<usize>> {
    domains.iter().flat_map(|domain| &domain.cores).collect()
}

#[cfg(test)]
mod tests;
