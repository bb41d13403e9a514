//! Assigns a host's cores to its ranks and their threads. The result is a plain value that depends only on the topology
//! and the numbers of ranks and threads.
//!
//! ```text
//! two domains of four cores      0 1 2 3 | 4 5 6 7
//! two ranks of three workers     w w w c | w w w c      w: worker, c: communication thread
//! three ranks of one worker      w c|w c | . . . .      two ranks share the first domain; the threads of the
//!                                                       third rank may use any core of the second domain
//! one rank of eight workers      w w w w | w w w w      the rank straddles both domains
//! ```
//!
//! The ranks on a host occupy its domains in order. The number of ranks in a domain is proportional to its number of
//! cores, and at least one if there are enough ranks. Ranks in the same domain have about the same number of cores,
//! which are adjacent. All ranks have the same number of workers, so uneven shares can leave cores idle. If more than a
//! quarter of the cores would be idle, all cores are divided evenly instead, across domain boundaries. Invariant: a
//! core has at most one worker, however many hardware threads it has.
//!
//! If the ranks in a domain have fewer cores than workers, no rank gets its own cores. The ranks stay in the domain,
//! and the operating system places their threads. The operating system also places the threads of a rank that has more
//! cores than threads, because otherwise two runs on the host would be bound to the same cores.
//!
//! This module binds no threads; threads bind themselves.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::topology::{Domain, Topology};

/// Maximum number of ranks in a printed list of placements.
const MAX_LISTED_RANKS: usize = 64;

/// The placement of one rank. Units and domains have the operating system's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankPlacement {
    /// The NUMA domains of the rank; several if the rank straddles domains.
    pub domains: Vec<usize>,
    /// Processing units that the rank's threads may use, in ascending order; empty if no thread is bound.
    pub units: Vec<usize>,
    /// The unit of each worker; empty if the operating system chooses among `units`.
    pub workers: Vec<usize>,
    /// The unit of the communication thread; `None` if that thread is not bound to one unit.
    pub communication: Option<usize>,
    /// Whether one core is left free for communication, even if no thread is bound to it.
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
        /// The smallest number of cores that any rank has in the same domains.
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
    /// The smallest number of cores that any rank has in these domains.
    least: usize,
}

impl Topology {
    /// Default number of ranks for a process that may use the whole topology, which is one rank per domain, or fewer.
    /// Because all ranks have the same number of workers, a small domain could leave too many cores in the other
    /// domains idle. The result is therefore the largest number of ranks that keeps at least nine tenths of the
    /// achievable maximum number of cores busy.
    pub fn ranks(&self) -> usize {
        self.ranks_within(self.cores())
    }

    /// Like [`Topology::ranks`], but for a process that may use the computing time of only `processors` processors. The
    /// result is at most `processors`.
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

    /// Default number of workers per rank if `ranks` ranks share the topology. This is the number of cores in the
    /// smallest share, minus one core for communication if ranks `communicate` and at least one worker remains.
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

    /// Number of cores in the smallest share.
    fn least(&self, ranks: usize) -> usize {
        smallest_share(&self.shares(ranks))
    }

    /// Number of cores in the smallest share if every share consists of whole domains or is inside one domain.
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

    /// Returns the domains of each rank if there are fewer ranks than domains. Each rank has one or more whole,
    /// consecutive domains, and ranks have about the same number of cores.
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

    /// Returns the domains of each rank, and the rank's cores in those domains.
    fn shares(&self, ranks: usize) -> Vec<RankShare<'_>> {
        let (within, even) = (self.shares_within(ranks), self.cores() / ranks.max(1));
        if 4 * smallest_share(&within) >= 3 * even { within } else { self.shares_across(ranks) }
    }

    /// Divides all cores evenly, in order, across domain boundaries.
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

    /// Returns shares that consist of whole domains or are inside one domain.
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
            // Adds a rank to the domain that then has the most cores per rank. If several domains have equally many,
            // the first one is chosen.
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
mod tests {
    use super::super::Synthetic;
    use super::*;

    fn host(text: &str) -> Topology {
        text.parse::<Synthetic>().unwrap().topology()
    }

    /// Returns the default number of workers, and the placement of the default number of ranks.
    fn default(topology: &Topology) -> (usize, Placement) {
        let ranks = topology.ranks();
        let workers = topology.workers(ranks, ranks > 1);
        (workers, topology.place(ranks, workers, ranks > 1))
    }

    fn lines(placement: &Placement) -> Vec<String> {
        listed(&placement.places).collect()
    }

    #[test]
    fn dual_grace() {
        let (workers, placement) = default(&host("pack:2 numa:1 core:72 pu:1"));
        assert_eq!((workers, &placement.warnings[..]), (71, &[][..]));
        assert_eq!(
            lines(&placement),
            [
                "rank 0: NUMA domain 0, workers on 0-70, communication on 71",
                "rank 1: NUMA domain 1, workers on 72-142, communication on 143",
            ]
        );
    }

    #[test]
    fn dual_graviton() {
        let (workers, placement) = default(&host("pack:2 numa:1 core:96 pu:1"));
        assert_eq!((workers, &placement.warnings[..]), (95, &[][..]));
        assert_eq!(
            lines(&placement),
            [
                "rank 0: NUMA domain 0, workers on 0-94, communication on 95",
                "rank 1: NUMA domain 1, workers on 96-190, communication on 191",
            ]
        );
    }

    #[test]
    fn four_domains_per_socket() {
        let host = host("pack:2 numa:4 core:16");
        let (workers, placement) = default(&host);
        assert_eq!((workers, placement.places.len(), &placement.warnings[..]), (15, 8, &[][..]));
        for (rank, place) in placement.places.iter().enumerate() {
            let units: Vec<usize> = (16 * rank..16 * rank + 16).collect();
            let (&last, workers) = units.split_last().unwrap();
            assert_eq!((&place.domains[..], &place.units), (&[rank][..], &units));
            assert_eq!((&place.workers[..], place.communication), (workers, Some(last)));
        }
        // With one rank per socket, each rank has all domains of its socket. Three ranks cannot have the same number of
        // domains each.
        let places = host.place(2, 63, true);
        assert_eq!(lines(&places)[1], "rank 1: NUMA domains 4-7, workers on 64-126, communication on 127");
        assert_eq!(places.warnings[1].to_string(), "rank 1 straddles NUMA domains 4-7");
        assert_eq!(host.workers(3, true), 31);
        let places = host.place(3, 31, true).places;
        assert_eq!(places.iter().map(|place| place.domains.len()).collect::<Vec<_>>(), [3, 2, 3]);
    }

    #[test]
    fn ranks_that_domains_do_not_divide() {
        let host = host("numa:2 core:8");
        assert_eq!(host.workers(3, true), 3);
        assert_eq!(
            lines(&host.place(3, 3, true)),
            [
                "rank 0: NUMA domain 0, workers on 0-2, communication on 3",
                "rank 1: NUMA domain 0, workers on 4-6, communication on 7",
                "rank 2: NUMA domain 1, all threads on 8-15",
            ]
        );
        let each = |ranks: usize| {
            let places = host.place(ranks, 1, true).places;
            (0..2).map(|domain| places.iter().filter(|place| place.domains == [domain]).count()).collect::<Vec<_>>()
        };
        // Without straddling, three of five ranks would have two cores each in one domain, and the other two would have
        // four cores each in the other domain. Instead, one rank straddles.
        assert_eq!([2, 5, 6, 16].map(each), [[1, 1], [2, 2], [3, 3], [8, 8]]);
    }

    #[test]
    fn one_core() {
        let (workers, placement) = default(&host("core:1"));
        assert_eq!((workers, &placement.warnings[..]), (1, &[][..]));
        assert_eq!(lines(&placement), ["rank 0: NUMA domain 0, workers on 0"]);
        // Two ranks, or two workers, are too many for one core.
        let crowded = host("core:1 pu:2").place(2, 1, true);
        assert_eq!(lines(&crowded)[1], "rank 1: NUMA domain 0, all threads on 0-1");
        assert_eq!(crowded.warnings[1].to_string(), "rank 1 has 1 worker and 0 cores of its own");
        let starved = host("core:1 pu:2").place(1, 2, false);
        assert_eq!(lines(&starved), ["rank 0: NUMA domain 0, all threads on 0-1"]);
        assert_eq!(starved.warnings, [Warning::Starved { rank: 0, cores: 1, workers: 2 }]);
    }

    #[test]
    fn more_ranks_than_cores() {
        let host = host("numa:2 core:2");
        assert_eq!(host.workers(5, true), 1);
        let placement = host.place(5, 1, true);
        let starved = |warning: &Warning| matches!(warning, Warning::Starved { cores: 0, workers: 1, .. });
        assert!(placement.warnings.len() == 3 && placement.warnings.iter().all(starved));
        // A rank without its own core stays in its domain, although the other domain has enough cores.
        assert_eq!(
            lines(&placement)[2..],
            [
                "rank 2: NUMA domain 0, all threads on 0-1",
                "rank 3: NUMA domain 1, workers on 2",
                "rank 4: NUMA domain 1, workers on 3",
            ]
        );
    }

    #[test]
    fn masks_of_other_sizes() {
        // One domain has six cores and the other has two.
        let host = host("numa:2 core:8 pu:2").restricted(&[0, 1, 2, 4, 6, 8, 10, 28, 30, 31]);
        // By default there is one rank with eight workers, because with two ranks each would use only two cores.
        let (workers, placement) = default(&host);
        assert_eq!(workers, 8);
        assert_eq!(lines(&placement), ["rank 0: NUMA domains 0-1, workers on 0,2,4,6,8,10,28,30"]);
        // With shares of six and two cores, two ranks with the same number of workers would keep only half of the cores
        // busy.
        let two = host.place(2, host.workers(2, true), true);
        assert_eq!(
            lines(&two),
            [
                "rank 0: NUMA domain 0, workers on 0,2,4, communication on 6",
                "rank 1: NUMA domains 0-1, workers on 8,10,28, communication on 30",
            ]
        );
        assert_eq!(two.places[1].units, [8, 10, 28, 30, 31]);
        assert!(two.places.iter().all(|place| place.spare));
        // With four ranks, three are in the domain that has three times as many cores.
        let four = host.place(4, host.workers(4, true), true);
        assert_eq!(
            lines(&four),
            [
                "rank 0: NUMA domain 0, workers on 0, communication on 2",
                "rank 1: NUMA domain 0, workers on 4, communication on 6",
                "rank 2: NUMA domain 0, workers on 8, communication on 10",
                "rank 3: NUMA domain 1, workers on 28, communication on 30",
            ]
        );
        assert_eq!(four.places[3].units, [28, 30, 31]);
        // A mask within one domain leaves only that domain.
        let within = Topology::flat(&[0, 1, 2, 3]).restricted(&[3, 1]);
        assert_eq!(
            lines(&within.place(2, 1, true)),
            ["rank 0: NUMA domain 0, workers on 1", "rank 1: NUMA domain 0, workers on 3",]
        );
    }

    #[test]
    fn a_given_number_of_ranks_leaves_no_quarter_of_the_cores_idle() {
        let three = host("numa:3 core:8");
        assert_eq!((three.workers(2, true), three.workers(3, true)), (11, 7));
        let two = three.place(2, 11, true);
        assert_eq!(lines(&two)[1], "rank 1: NUMA domains 1-2, workers on 12-22, communication on 23");
        assert_eq!(two.warnings.len(), 2);
        let units: Vec<usize> = (0..60).chain(72..84).collect();
        assert_eq!(host("numa:2 core:72").restricted(&units).workers(2, true), 35);
        // With three ranks, one rank would have to straddle, for a gain of only a fifth of the cores.
        assert_eq!(host("numa:2 core:8").workers(3, true), 3);
    }

    /// Checks the default numbers of ranks and workers on hosts with given numbers of cores per domain.
    #[test]
    fn uneven_masks_leave_few_cores_idle() {
        let of = |cores: &[usize]| {
            let most = cores.iter().max().unwrap();
            let units = |(domain, &count): (usize, &usize)| (0..count).map(move |core| domain * most + core);
            let units: Vec<usize> = cores.iter().enumerate().flat_map(units).collect();
            let host = host(&format!("numa:{} core:{most}", cores.len())).restricted(&units);
            let ranks = host.ranks();
            (ranks, host.workers(ranks, ranks > 1))
        };
        assert_eq!([of(&[15, 1]), of(&[1, 15]), of(&[8, 4])], [(1, 16), (1, 16), (1, 12)]);
        // A single rank would have slightly more cores, but would straddle.
        assert_eq!([of(&[16, 15]), of(&[72, 71])], [(2, 14), (2, 70)]);
        // Straddling ranks combine domains that have too few cores.
        assert_eq!([of(&[8, 8, 4, 4]), of(&[1, 8, 8, 8, 8])], [(3, 7), (4, 7)]);
        assert_eq!(of(&[30, 1, 1, 1]), (1, 33));
        assert_eq!([of(&[1, 1]), of(&[8, 8, 8]), of(&[3])], [(2, 1), (3, 7), (1, 3)]);
    }

    #[test]
    fn no_more_ranks_than_processors_that_may_be_used() {
        let host = host("pack:2 numa:4 core:16");
        assert_eq!([1, 2, 3, 7, 8, 9, 127, 128, 1000].map(|most| host.ranks_within(most)), [1, 2, 3, 7, 8, 8, 8, 8, 8]);
        let uneven = host.restricted(&[0, 1, 2, 3, 16]);
        assert_eq!([1, 2, 5].map(|most| uneven.ranks_within(most)), [1, 2, 1]);
        assert_eq!(Topology::default().ranks_within(0), 1);
    }

    /// Threads are bound to cores only if they fill their share, because two runs on one host must not be bound to the
    /// same cores.
    #[test]
    fn threads_that_do_not_fill_their_share_are_bound_to_none_of_its_cores() {
        let host = host("numa:2 core:4");
        let lines = |workers, communicate| lines(&host.place(2, workers, communicate));
        assert_eq!(lines(2, true)[1], "rank 1: NUMA domain 1, all threads on 4-7");
        assert_eq!(lines(3, true)[1], "rank 1: NUMA domain 1, workers on 4-6, communication on 7");
        assert_eq!(lines(3, false)[1], "rank 1: NUMA domain 1, all threads on 4-7");
        assert_eq!(lines(4, true)[1], "rank 1: NUMA domain 1, workers on 4-7");
        let spare = [2, 3, 4, 5].map(|workers| host.place(2, workers, true).places[0].spare);
        assert_eq!(spare, [true, true, false, false]);
    }

    #[test]
    fn workers_have_cores_not_hardware_threads() {
        let host = host("pack:1 core:4 pu:2");
        let (workers, placement) = default(&host);
        assert_eq!((workers, &placement.places[0].workers[..]), (4, &[0, 2, 4, 6][..]));
        assert_eq!(placement.places[0].units, [0, 1, 2, 3, 4, 5, 6, 7]);
        // The second hardware thread of a worker's core is not a spare core.
        assert_eq!(
            lines(&host.place(2, 2, true)),
            ["rank 0: NUMA domain 0, workers on 0,2", "rank 1: NUMA domain 0, workers on 4,6",]
        );
    }

    /// Tests that on every host the ranks' shares cover all cores, that no core belongs to two ranks, and that the
    /// sizes of shares within a domain differ by at most one.
    #[test]
    fn shares_are_even_and_complete() {
        for text in ["core:1", "core:7", "numa:3 core:5", "pack:2 numa:4 core:3", "numa:2 core:64 pu:2"] {
            let host = host(text);
            for ranks in 1..=2 * host.cores() {
                let shares = host.shares(ranks);
                let all: Vec<&Vec<usize>> = shares.iter().flat_map(|share| share.cores.clone()).collect();
                assert_eq!(all, cores_of(&host.domains), "{text}, {ranks} ranks");
                for domain in &host.domains {
                    let own = shares.iter().filter(|share| share.domains[0] == *domain && share.domains.len() == 1);
                    let sizes: Vec<usize> = own.map(|share| share.cores.len()).collect();
                    let (least, most) = (sizes.iter().min(), sizes.iter().max());
                    assert!(
                        most.zip(least).is_none_or(|(most, least)| most - least <= 1),
                        "{text}, {ranks}: {sizes:?}"
                    );
                }
                let (workers, least) = (host.workers(ranks, true), shares.iter().map(|share| share.cores.len()).min());
                assert_eq!(workers, least.unwrap().saturating_sub(1).max(1));
                assert_eq!(host.place(ranks, workers, true).places.len(), ranks);
            }
        }
    }

    #[test]
    fn an_unknown_topology_pins_no_rank() {
        let nothing = Topology::default();
        assert_eq!((nothing.ranks(), nothing.workers(3, true)), (1, 1));
        assert_eq!(
            lines(&nothing.place(2, 1, true)),
            ["rank 0: where the system likes", "rank 1: where the system likes"]
        );
    }

    #[test]
    fn of_many_ranks_some_are_listed() {
        let places = vec![RankPlacement::default(); MAX_LISTED_RANKS + 3];
        let lines: Vec<String> = listed(&places).collect();
        assert_eq!((lines.len(), lines[MAX_LISTED_RANKS].as_str()), (MAX_LISTED_RANKS + 1, "and 3 more"));
        assert_eq!(listed(&places[..MAX_LISTED_RANKS]).count(), MAX_LISTED_RANKS);
    }
}
