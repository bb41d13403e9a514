//! Assigns a host's cores to ranks' threads, given the topology, the numbers of ranks and workers, and whether ranks
//! communicate.
//!
//! `docs/placement.md` describes the rules. Invariant: at most one worker is bound to a core.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::topology::{Domain, Topology};

const MAX_LISTED_RANKS: usize = 64;

/// A rank's placement, by the operating system's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankPlacement {
    /// The rank's NUMA domains.
    pub domains: Vec<usize>,
    /// The threads' processing units, ascending; empty if none is bound.
    pub units: Vec<usize>,
    /// Each worker's processing unit; empty for any of `units`.
    pub workers: Vec<usize>,
    /// The communication thread's processing unit, if bound.
    pub communication: Option<usize>,
    /// Whether a core is free for communication, even if not bound.
    pub spare: bool,
}

/// The placement of a host's ranks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// In order of ranks.
    pub places: Vec<RankPlacement>,
    /// Why ranks are slow, in order.
    pub warnings: Vec<Warning>,
}

/// Why a rank is slow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The rank has fewer cores than workers.
    Starved {
        /// Number on the host.
        rank: usize,
        /// The fewest cores of any rank in the domains.
        cores: usize,
        /// The workers requested.
        workers: usize,
    },
    /// The rank's workers are in several NUMA domains.
    Straddles {
        /// Number on the host.
        rank: usize,
        /// The domains' numbers.
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

/// One line for each of the first `MAX_LISTED_RANKS` ranks.
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

struct RankShare<'a> {
    domains: &'a [Domain],
    cores: Vec<&'a Vec<usize>>,
    /// The fewest cores of a rank in them.
    least: usize,
}

impl Topology {
    /// The default number of ranks, at most one per domain: the largest that can use at least nine tenths of the
    /// maximum cores.
    pub fn ranks(&self) -> usize {
        self.ranks_within(self.cores())
    }

    /// Like [`Topology::ranks`], for a CPU quota of `processors` processors.
    pub fn ranks_within(&self, processors: usize) -> usize {
        let max_ranks = self.domains.len().min(processors).max(1);
        let busy = |ranks: usize| (ranks * self.least_within(ranks)).min(processors);
        let best = (1..=max_ranks).map(busy).max().unwrap_or(0);
        (1..=max_ranks).rev().find(|&ranks| 10 * busy(ranks) >= 9 * best).unwrap_or(1)
    }

    /// The default workers of each of `ranks` ranks: the fewest cores of any, less one for communication if ranks
    /// `communicate` and all have two or more.
    pub fn workers(&self, ranks: usize, communicate: bool) -> usize {
        if ranks > self.cores() {
            return 1;
        }
        let least = self.least(ranks);
        if communicate && least > 1 { least - 1 } else { least.max(1) }
    }

    /// The fewest cores of any rank.
    fn least(&self, ranks: usize) -> usize {
        smallest_share(&self.shares(ranks))
    }

    /// With whole domains per rank, or cores in one.
    fn least_within(&self, ranks: usize) -> usize {
        smallest_share(&self.shares_within(ranks))
    }

    /// Places `ranks` ranks with `workers` workers, and a thread more if they `communicate`.
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

    /// Each rank's consecutive domains, with about equal cores, for fewer ranks than domains.
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

    /// Each rank's domains and cores, across domains only if too many cores would else be idle.
    fn shares(&self, ranks: usize) -> Vec<RankShare<'_>> {
        let (within, even) = (self.shares_within(ranks), self.cores() / ranks.max(1));
        if 4 * smallest_share(&within) >= 3 * even { within } else { self.shares_across(ranks) }
    }

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
