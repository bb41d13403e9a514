//! Binds ranks and their threads to the cores that [`crate::machine::Placement`] gives them.
//!
//! Ranks of one host with the same affinity mask divide its cores among themselves. Ranks that a launcher has bound to
//! other cores keep to those. Each worker gets a core of its own, and so does the communicating thread if one is left.
//! If more cores are left, the threads of a rank are bound to all of its cores. Pages are placed by first touch: the
//! workers of a rank zero its blocks of tensors; arenas and packing space stay untouched until the workers use them.
//!
//! Invariant: a rank has no cores of its own if they are fewer than its workers. Deliberately absent: binding or
//! migrating memory.

use super::error::Rank;
use super::{Error, Result, World, host, memory_limits, pinning};
use crate::machine::{RankPlacement, Topology};
use crate::memory::probe;
use crate::sync::{ThreadPool, ThreadPoolBuilder};

/// The workers of one rank of this process.
pub(super) struct Crew {
    pub(super) pool: ThreadPool,
    pub(super) place: RankPlacement,
}

impl Crew {
    /// Starts and pins the workers of a rank.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub(super) fn new(rank: usize, workers: usize, place: RankPlacement) -> Result<Crew> {
        let theirs = place.clone();
        let builder = ThreadPoolBuilder::new().num_threads(workers).start_handler(move |worker| {
            // If a plan has more workers than were placed, none of them gets a core of its own.
            match theirs.workers.get(worker).filter(|_| workers <= theirs.workers.len()) {
                Some(&unit) => pinning::bind(&[unit]),
                None => pinning::bind(&theirs.units),
            }
        });
        let builder = builder.thread_name(move |worker| format!("rank {rank} worker {worker}"));
        let pool = room_for_threads(rank, workers)
            .and_then(|()| builder.build().map_err(|error| no_threads(rank, workers, &error)))?;
        Ok(Crew { pool, place })
    }

    /// Pins the calling thread to the core for communication, or else to the cores of its rank.
    pub(super) fn bind_communication(&self) {
        match self.place.communication {
            Some(unit) => pinning::bind(&[unit]),
            None => pinning::bind(&self.place.units),
        }
    }
}

/// Bytes of address space of a thread: Rust's default stack, the signal stack, and the system's overhead for both.
const BYTES_PER_THREAD: usize = (2 << 20) + (128 << 10);

/// Checks that the address space has room for `threads` threads. A thread without room for its signal stack ends the
/// process, so this check comes before threads start.
///
/// # Errors
/// [`Error::Threads`].
pub(super) fn room_for_threads(rank: usize, threads: usize) -> Result<()> {
    // Without a limit, the system reports failures when threads start.
    if memory_limits::of_process().is_none() {
        return Ok(());
    }
    probe(threads.saturating_mul(BYTES_PER_THREAD)).map_err(|error| no_threads(rank, threads, &error))
}

pub(super) fn no_threads(rank: usize, threads: usize, why: &dyn std::error::Error) -> Error {
    // The system's message says more than rayon's.
    let message = why.source().map_or_else(|| why.to_string(), ToString::to_string);
    Error::Threads { rank: Rank::here(rank), threads, message }
}

/// Starts rayon's global pool with `threads` threads, unless it exists already; then it stays as it is. To be called
/// before anything computes in the pool: the first computation would start one thread per core, and panic if they
/// cannot be started.
///
/// # Errors
/// [`Error::Threads`] if the threads cannot be started.
pub fn start_threads(threads: usize) -> Result<()> {
    room_for_threads(0, threads)?;
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
        Err(error) if std::error::Error::source(&error).is_some() => Err(no_threads(0, threads, &error)),
        // The pool exists already.
        _ => Ok(()),
    }
}

/// The result of [`World::place`].
pub(super) struct AgreedPlacement {
    pub(super) workers: usize,
    /// By local rank.
    pub(super) places: Vec<RankPlacement>,
}

/// The ranks of this host that have the same affinity mask as this process.
struct Sharing {
    /// The cores that they share.
    topology: Topology,
    ranks: usize,
    /// The number of these ranks that precede the ranks of this process.
    before: usize,
    /// The number of all ranks of this host, whatever their masks.
    here: usize,
}

impl Sharing {
    /// Processors per rank under a quota of processor time; `None` if there is no quota tighter than the mask.
    fn quota(&self) -> Option<usize> {
        let processors = host::processors();
        (processors < host::cpus().len()).then(|| processors / self.here.max(1))
    }
}

impl World {
    /// Binds the ranks of each host to cores of their own, if there are enough for `workers` workers on each rank. If
    /// no cores are left over then, each worker and each communicating thread gets one core.
    ///
    /// An MPI process binds the calling thread, and all threads that it starts later, to the cores of its rank. Ranks
    /// inside one process bind their own threads. A world of one rank stays unbound. Call this before anything is
    /// measured, compiled or allocated. The first call decides; later calls change nothing. Collective.
    ///
    /// ```
    /// use einsum_dist::World;
    /// let world = World::in_process(2);
    /// world.place(1)?;
    /// assert_eq!(world.places()?.len(), 2);
    /// # Ok::<(), einsum_dist::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more ranks or workers than can be planned for ([`Machine::check`](crate::Machine::check)), MPI fails,
    /// or `EINSUM_DIST_TOPOLOGY` is not a topology.
    pub fn place(&self, workers: usize) -> Result<()> {
        self.expect_size(workers)?;
        let sharing = self.sharing()?;
        let Sharing { topology, ranks, before, .. } = &sharing;
        if self.ranks() == 1 || self.shared().placed.borrow().is_some() || host::cpus().is_empty() {
            return Ok(());
        }
        let mut places = topology.place(*ranks, workers, true).places.split_off(*before);
        places.truncate(self.local_ranks().len());
        // A thread that never sleeps uses up its part of a quota.
        if sharing.quota().is_some_and(|quota| quota <= workers) {
            places.iter_mut().for_each(|place| place.spare = false);
        }
        if let (false, [mine]) = (self.local_ranks().len() == self.ranks(), &places[..]) {
            pinning::bind(&mine.units);
        }
        *self.shared().placed.borrow_mut() = Some(AgreedPlacement { workers, places });
        Ok(())
    }

    /// The default number of workers of each rank: one for each core of the smallest share of any rank, less one for
    /// communication if there are several ranks and at least one worker remains. A quota of processor time may reduce
    /// it. Collective.
    ///
    /// # Errors
    /// As [`World::place`].
    pub fn default_workers(&self) -> Result<usize> {
        self.expect_size(1)?;
        let sharing = self.sharing()?;
        let several = self.ranks() > 1;
        let quota = sharing.quota().map(|quota| if several && quota > 1 { quota - 1 } else { quota.max(1) });
        let mine = sharing.topology.workers(sharing.ranks, several).min(quota.unwrap_or(usize::MAX));
        // All ranks run the same plan, so the minimum counts.
        let all = self.all_gather(&(mine as u64).to_le_bytes())?;
        let read = |bytes: &Vec<u8>| Some(u64::from_le_bytes(bytes.as_slice().try_into().ok()?) as usize);
        Ok(all.iter().filter_map(read).min().unwrap_or(mine))
    }

    /// The placement of every rank, in order of ranks; a rank that is not bound has all cores of its process.
    /// Collective.
    ///
    /// # Errors
    /// As [`World::place`].
    pub fn places(&self) -> Result<Vec<RankPlacement>> {
        self.expect_size(1)?;
        let mine: Vec<RankPlacement> = (0..self.local_ranks().len()).map(|rank| self.shared().place_of(rank)).collect();
        let all = self.all_gather(&serde_json::to_vec(&mine).unwrap_or_default())?;
        let read = all.iter().map(|bytes| serde_json::from_slice::<Vec<RankPlacement>>(bytes).unwrap_or_default());
        Ok(read.flatten().collect())
    }

    /// Describes in a sentence the first rank that is starved by its affinity mask; `None` if there is none. Such a
    /// rank has fewer cores than an equal share of its host, and fewer than `workers`. Collective.
    ///
    /// # Errors
    /// As [`World::place`].
    pub fn starved(&self, workers: Option<usize>) -> Result<Option<String>> {
        let Sharing { topology, ranks, here, .. } = self.sharing()?;
        let (own, fair) = (topology.cores() / ranks, host::topology()?.cores() / here.max(ranks));
        let rank = self.local_ranks().start;
        let starves = own < fair && own < workers.unwrap_or(fair);
        let cores = if own == 1 { "1 core".to_owned() } else { format!("{own} cores") };
        let mine = if starves {
            format!("the affinity mask of rank {rank} leaves it {cores}, its share of the host is {fair}")
        } else {
            String::new()
        };
        let all = self.all_gather(mine.as_bytes())?;
        let first = all.iter().find(|theirs| !theirs.is_empty());
        Ok(first.map(|theirs| String::from_utf8_lossy(theirs).into_owned()))
    }

    /// The ranks that share cores with this process. Collective.
    fn sharing(&self) -> Result<Sharing> {
        let name = host::name();
        let mine = format!("{name} {:?}", host::cpus());
        let everyone = self.all_gather(mine.as_bytes())?;
        let topology = self.agree(host::allowed())?;
        if self.local_ranks().len() == self.ranks() {
            return Ok(Sharing { topology, ranks: self.ranks(), before: 0, here: self.ranks() });
        }
        let of_host =
            |theirs: &&Vec<u8>| theirs.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' '));
        let here = everyone.iter().filter(of_host).count();
        let sharing = |processes: &[Vec<u8>]| processes.iter().filter(|theirs| **theirs == mine.as_bytes()).count();
        Ok(Sharing {
            topology,
            ranks: sharing(&everyone),
            before: sharing(&everyone[..self.local_ranks().start]),
            here,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_stay_where_they_are_placed() {
        let units = host::cpus();
        let (Some(&first), Some(&last)) = (units.first(), units.last()) else { return };
        let place = RankPlacement {
            domains: vec![0],
            units: units.clone(),
            workers: vec![last, first],
            communication: None,
            spare: false,
        };
        let crew = |workers: usize| Crew::new(0, workers, place.clone()).expect("threads");
        assert_eq!(crew(2).pool.broadcast(|_| own_cores()), [vec![last], vec![first]]);
        assert_eq!(crew(1).pool.broadcast(|_| own_cores()), [vec![last]]);
        // More workers than were placed share the cores.
        assert!(crew(3).pool.broadcast(|_| own_cores()).iter().all(|mine| *mine == units));
        let spare = Crew::new(0, 1, RankPlacement { communication: Some(last), ..place.clone() }).expect("threads");
        for (crew, cores) in [(spare, vec![last]), (crew(1), units.clone())] {
            let bound = std::thread::spawn(move || {
                crew.bind_communication();
                own_cores()
            });
            assert_eq!(bound.join().unwrap(), cores);
        }
    }

    #[test]
    fn ranks_share_the_cores_of_the_process() {
        let units = host::allowed().expect("a topology");
        let ranks = units.cores();
        if ranks < 2 || host::cpus().is_empty() {
            return;
        }
        let world = World::in_process(ranks);
        assert_eq!(world.default_workers().unwrap(), 1);
        assert!(world.places().unwrap().iter().all(|place| place.workers.is_empty()));
        world.place(1).unwrap();
        let mut workers: Vec<usize> = world.places().unwrap().into_iter().flat_map(|place| place.workers).collect();
        workers.sort_unstable();
        workers.dedup();
        assert_eq!(workers.len(), ranks, "a core each");
        // With too few cores, ranks have none of their own.
        let crowded = World::in_process(ranks + 1);
        crowded.place(1).unwrap();
        assert!(crowded.places().unwrap().iter().any(|place| place.workers.is_empty()));
        let single = World::single();
        single.place(1).unwrap();
        assert_eq!(single.places().unwrap()[0].units, host::cpus());
    }

    /// The cores of the calling thread.
    fn own_cores() -> Vec<usize> {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        crate::api::cores::listed(&status)
    }
}
