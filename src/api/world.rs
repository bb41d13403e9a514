//! The ranks that run a plan.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;
#[cfg(feature = "mpi")]
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::crew::{AgreedPlacement, Crew};
use super::error::Rank;
use super::gathered::parsed;
use super::{Error, Result, Workers, host, memory_limits};
use crate::exec::{Moved, RunOptions};
use crate::io::output::remove_temporaries;
use crate::machine::{Machine, RankPlacement};
use crate::plan::{PathChoice, Plan, PlanOptions, SearchedTree, UNSLICED_SHARE};

#[cfg(feature = "mpi")]
use super::transport_choice;
#[cfg(feature = "mpi")]
use crate::comm::Transport;
#[cfg(feature = "mpi")]
use crate::comm::mpi::{Communicator, Mpi, family, library_version};

/// Plans for more in one process are for other hosts.
const MAX_RANKS_PER_CORE: usize = 4;

/// The ranks that run programs; clones share them. It is not `Send`: its creator's thread communicates during runs.
///
/// | | ranks | threads |
/// |---|---|---|
/// | [`World::single`], [`World::single_in`] | 1 | the caller's rayon pool, or a given pool |
/// | [`World::in_process`] | threads of this process | per rank, a communication thread and a pool of workers |
/// | `World::mpi`, `World::from_communicator` (feature `mpi`) | processes | the caller communicates; a pool computes |
///
/// "Collective" means that every process must make the call, in the same order of collective calls.
///
/// ```
/// use einsum_dist::World;
/// let world = World::in_process(3);
/// assert_eq!((world.ranks(), world.local_ranks()), (3, 0..3));
/// ```
#[derive(Clone)]
pub struct World(Rc<Shared>);

pub(super) struct Shared {
    pub(super) members: Members,
    crews: RefCell<BTreeMap<usize, Rc<Vec<Crew>>>>,
    /// Of the local ranks; `None` before [`World::place`].
    pub(super) placed: RefCell<Option<AgreedPlacement>>,
    pub(super) options: RunOptions,
    moved: Cell<Moved>,
    not_send: PhantomData<*const ()>,
}

pub(super) enum Members {
    Single {
        /// `None` for the caller's current pool.
        workers: Option<Workers>,
    },
    InProcess {
        ranks: usize,
        bytes_per_second: Option<f64>,
    },
    #[cfg(feature = "mpi")]
    Mpi(Box<MpiMembers>),
}

#[cfg(feature = "mpi")]
pub(super) struct MpiMembers {
    // Fields are dropped in this order: the endpoint and the communicator before MPI is finalised.
    pub(super) endpoint: RefCell<Option<crate::comm::Endpoint>>,
    pub(super) communicator: Communicator,
    transport: String,
    mpi: RefCell<Option<Mpi>>,
}

impl World {
    fn of(members: Members, options: RunOptions) -> World {
        #[cfg(feature = "mpi")]
        if let Members::Mpi(members) = &members {
            // Timeouts also run this. The guard of `remove_temporaries` is forgotten, so that no thread can create
            // another file; a second removal would block on its lock.
            let removed = Cell::new(false);
            members.communicator.before_abort(move || {
                if !removed.replace(true) {
                    std::mem::forget(remove_temporaries());
                }
            });
        }
        World(Rc::new(Shared {
            members,
            crews: RefCell::default(),
            placed: RefCell::default(),
            options,
            moved: Cell::default(),
            not_send: PhantomData,
        }))
    }

    /// A world of one rank; starts no threads.
    pub fn single() -> World {
        World::of(Members::Single { workers: None }, RunOptions::default())
    }

    /// Like [`World::single`], but computes in a pool, entered only for tasks large enough for several threads. Worlds
    /// on different threads may share a pool.
    pub fn single_in(workers: impl Into<Workers>) -> World {
        World::of(Members::Single { workers: Some(workers.into()) }, RunOptions::default())
    }

    /// A world of `ranks` ranks (at least 1) in this process.
    pub fn in_process(ranks: usize) -> World {
        World::of(Members::InProcess { ranks: ranks.max(1), bytes_per_second: None }, RunOptions::default())
    }

    /// Like [`World::in_process`], with transfers between each two ranks throttled to `bytes_per_second`, at least 1.
    pub fn throttled(ranks: usize, bytes_per_second: f64) -> World {
        let members = Members::InProcess { ranks: ranks.max(1), bytes_per_second: Some(bytes_per_second.max(1.0)) };
        World::of(members, RunOptions::default())
    }

    /// A world of the processes that mpirun started. Initialises MPI if necessary, with `MPI_THREAD_FUNNELED`.
    /// Collective.
    ///
    /// # Errors
    /// Without a launcher, with one of a different MPI implementation, or if MPI was initialised without thread
    /// support.
    #[cfg(feature = "mpi")]
    pub fn mpi() -> Result<World> {
        World::mpi_by(Transport::Auto)
    }

    /// Like [`World::mpi`], with the given transport. Collective.
    ///
    /// # Errors
    /// Those of [`World::mpi`], and, for [`Transport::Shared`], if memory cannot be shared or no two ranks are on the
    /// same node.
    #[cfg(feature = "mpi")]
    pub fn mpi_by(transport: Transport) -> Result<World> {
        let mpi = Mpi::init()?;
        let communicator = Communicator::world(&mpi)?;
        World::of_mpi(mpi, communicator, transport)
    }

    /// A world of the processes of a communicator, which is duplicated. Collective over it.
    ///
    /// # Errors
    /// Those of [`World::mpi`].
    #[cfg(feature = "mpi")]
    pub fn from_communicator(communicator: &impl ::mpi::raw::AsRaw<Raw = ::mpi::ffi::MPI_Comm>) -> Result<World> {
        let mpi = Mpi::init()?;
        let communicator = Communicator::of(&mpi, communicator)?;
        World::of_mpi(mpi, communicator, Transport::Auto)
    }

    /// This build's MPI family, `MPICH` or `Open MPI`, and the loaded library's description, even before
    /// initialisation.
    #[cfg(feature = "mpi")]
    pub fn mpi_library() -> (&'static str, String) {
        (family(), library_version())
    }

    #[cfg(feature = "mpi")]
    fn of_mpi(mpi: Mpi, communicator: Communicator, transport: Transport) -> Result<World> {
        let endpoint = transport_choice::endpoint(&communicator, transport)?;
        let transport = endpoint.name();
        let endpoint = RefCell::new(Some(crate::comm::Endpoint::Mpi(Box::new(endpoint))));
        let members = MpiMembers { endpoint, communicator, transport, mpi: RefCell::new(Some(mpi)) };
        Ok(World::of(Members::Mpi(Box::new(members)), RunOptions::default()))
    }

    /// Sets the options for runs.
    ///
    /// # Panics
    /// If programs or clones of the world already exist.
    pub fn with(self, options: RunOptions) -> World {
        let shared = Rc::try_unwrap(self.0).unwrap_or_else(|_| panic!("options are set before programs are compiled"));
        #[cfg(feature = "mpi")]
        if let Members::Mpi(members) = &shared.members {
            members.communicator.give_up_after(options.timeout);
        }
        World(Rc::new(Shared { options, ..shared }))
    }

    /// Releases shared memory, and finalises MPI if this world initialised it. Dropping does neither, because both wait
    /// for other processes. All programs, tensors, outputs and clones must be dropped first. Collective.
    ///
    /// # Errors
    /// If a program, an output or a clone of the world still exists, or MPI fails.
    pub fn finish(self) -> Result<()> {
        let shared = Rc::try_unwrap(self.0).map_err(|_| Error::Usage("a program still holds the world".to_owned()))?;
        match shared.members {
            Members::Single { .. } | Members::InProcess { .. } => Ok(()),
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => {
                let MpiMembers { endpoint, communicator, mpi, .. } = *members;
                endpoint.into_inner().map_or(Ok(()), crate::comm::Endpoint::close)?;
                // A process in MPI_Finalize makes no progress for others. Without these pauses, some runs between hosts
                // hung (MPICH 4.0 with UCX over TCP).
                for _ in 0..2 {
                    communicator.barrier()?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                drop(communicator);
                mpi.into_inner().map_or(Ok(()), |mpi| Ok(mpi.finalise()?))
            }
        }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        match &self.0.members {
            Members::Single { .. } => 1,
            Members::InProcess { ranks, .. } => *ranks,
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => members.communicator.size(),
        }
    }

    /// The ranks in this process.
    pub fn local_ranks(&self) -> Range<usize> {
        match &self.0.members {
            Members::Single { .. } => 0..1,
            Members::InProcess { ranks, .. } => 0..*ranks,
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => members.communicator.rank()..members.communicator.rank() + 1,
        }
    }

    pub(super) fn is_one_process(&self) -> bool {
        self.local_ranks().len() == self.ranks()
    }

    /// Whether rank 0, which prints, is in this process.
    pub fn is_root(&self) -> bool {
        self.local_ranks().start == 0
    }

    /// Its name in reports.
    pub fn transport(&self) -> &str {
        match &self.0.members {
            Members::Single { .. } => "none",
            Members::InProcess { bytes_per_second: None, .. } => "shared",
            Members::InProcess { bytes_per_second: Some(_), .. } => "throttled",
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => &members.transport,
        }
    }

    pub(super) fn throttle(&self) -> Option<f64> {
        match &self.0.members {
            Members::InProcess { bytes_per_second, .. } => *bytes_per_second,
            _ => None,
        }
    }

    pub(super) fn workers(&self) -> Option<&Workers> {
        match &self.0.members {
            Members::Single { workers } => workers.as_ref(),
            _ => None,
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.workers().map_or_else(rayon::current_num_threads, |workers| workers.pool().current_num_threads())
    }

    /// Bytes that local ranks have moved in all runs, redistributions and gathers.
    pub fn moved(&self) -> Moved {
        self.0.moved.get()
    }

    pub(super) fn count(&self, run: Moved) {
        let Moved { received, sent } = self.moved();
        self.0.moved.set(Moved { received: received + run.received, sent: sent + run.sent });
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.0
    }

    /// Checks that processes and hosts have memory for a plan, its operands and result, and `beside` more bytes per
    /// rank. Collective.
    ///
    /// # Errors
    /// If the plan is for another number of ranks. If the ranks of a process or host need more than is available.
    pub fn check_memory(&self, plan: &Plan, beside: u64) -> Result<()> {
        self.agree(self.expect_plan(plan))?;
        let bytes = self.local_ranks().map(|rank| plan.peak_bytes(rank).saturating_add(beside));
        let needs = bytes.fold(0, u64::saturating_add);
        let (needed, _) = self.needed_here(needs)?;
        let rank = self.local_ranks().start;
        let of_process = match memory_limits::of_process() {
            Some((available, limit)) if needs > available => {
                Err(Error::ProcessMemory { rank: Rank::here(rank), needed: needs, available, limit })
            }
            _ => Ok(()),
        };
        self.agree(of_process.and_then(|()| match memory_limits::of_host() {
            Some(available) if needed > available => Err(Error::HostMemory { rank, needed, available }),
            _ => Ok(()),
        }))
    }

    /// The fewest bytes that a process can allocate beside an unallocated plan; `u64::MAX` without a limit. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn spare_memory(&self, plan: &Plan) -> Result<u64> {
        self.spare_beside(self.local_ranks().map(|rank| plan.peak_bytes(rank)).fold(0, u64::saturating_add))
    }

    /// Options with [`PlanOptions::free_memory`]: 70 to 87 % of the memory of processes and hosts, for each rank.
    /// Unchanged with a memory limit, or more than 4 ranks per core in one process. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn with_free_memory(&self, options: &PlanOptions) -> Result<PlanOptions> {
        let local = self.local_ranks().len();
        if options.memory_limit.is_some() || local > MAX_RANKS_PER_CORE * host::processors() {
            return Ok(options.clone());
        }
        let free = memory_limits::limit_within(self.spare_beside(0)? / local as u64);
        Ok(options.clone().free_memory(free))
    }

    /// If a plan made with `options` needs more than the free memory, options with this limit, whose search begins with
    /// its order, and is shorter if its time is prescribed. Such a plan may not exist. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn within_memory(
        &self,
        plan: &Plan,
        searched: &SearchedTree,
        options: &PlanOptions,
    ) -> Result<Option<PlanOptions>> {
        let Some(limit) = options.free_memory else { return Ok(None) };
        if plan.ranks() != self.ranks() || self.check_memory(plan, 0).is_ok() || plan.max_user_bytes().1 > limit {
            return Ok(None);
        }
        let goes_on = matches!(options.path, PathChoice::Auto | PathChoice::Anneal);
        let left = if goes_on { 1.0 - UNSLICED_SHARE } else { 1.0 };
        let seconds = options.path_seconds.map(|seconds| left * seconds);
        let start = searched.numbers();
        Ok(Some(options.clone().memory_limit(limit).free_memory(None).path_seconds(seconds).path_start(start)))
    }

    fn spare_beside(&self, needs: u64) -> Result<u64> {
        let (needed, processes) = self.needed_here(needs)?;
        let of_process = memory_limits::of_process().map_or(u64::MAX, |(available, _)| available.saturating_sub(needs));
        let of_host =
            memory_limits::of_host().map_or(u64::MAX, |available| available.saturating_sub(needed) / processes.max(1));
        let all = self.all_gather(&of_process.min(of_host).to_le_bytes())?;
        Ok(all.iter().filter_map(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?))).min().unwrap_or(0))
    }

    /// The bytes that this host's processes need, and their number. Collective.
    fn needed_here(&self, needs: u64) -> Result<(u64, u64)> {
        let mine = format!("{}\n{needs}", host::name());
        let everyone = self.all_gather(mine.as_bytes())?;
        let here = everyone.iter().filter_map(|bytes| std::str::from_utf8(bytes).ok()?.split_once('\n'));
        let here = here.filter(|(name, _)| *name == host::name());
        let each = here.filter_map(|(_, bytes)| bytes.parse::<u64>().ok());
        Ok(each.fold((0, 0), |(all, count), bytes| (bytes.saturating_add(all), count + 1)))
    }

    pub(super) fn expect_plan(&self, plan: &Plan) -> Result<()> {
        if plan.ranks() == self.ranks() {
            return Ok(());
        }
        Err(Error::Usage(format!("the plan is for {} ranks, the world has {}", plan.ranks(), self.ranks())))
    }

    pub(super) fn expect_size(&self, workers: usize) -> Result<()> {
        Machine::new(self.ranks(), workers)
            .check()
            .map_err(|why| Error::Usage(format!("a world cannot be that large: {why}")))
    }

    /// This process's value if none has failed. Collective.
    ///
    /// # Errors
    /// A failed process's own error there, and that of the lowest failed rank elsewhere.
    pub fn agree<V>(&self, mine: Result<V>) -> Result<V> {
        match &self.0.members {
            Members::Single { .. } | Members::InProcess { .. } => mine,
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => {
                // The first character marks input errors; host and message follow.
                let outcome = mine.as_ref().map(drop).map_err(|error| {
                    format!("{}{}\n{}", if error.is_input() { 'i' } else { 'r' }, host::name(), error.for_other_ranks())
                });
                let verdict = members.communicator.agree(outcome)?;
                match (mine, verdict) {
                    (Ok(value), Ok(())) => Ok(value),
                    (Err(error), _) => Err(error),
                    (Ok(_), Err(failures)) => {
                        let (number, outcome) = failures.first().map_or((0, "r"), |f| (f.rank, f.message.as_str()));
                        let (host, message) = outcome[1..].split_once('\n').unwrap_or_default();
                        let (rank, message) = (Rank { number, host: host.to_owned() }, message.to_owned());
                        Err(Error::Elsewhere { rank, input: outcome.starts_with('i'), message })
                    }
                }
            }
        }
    }

    /// Gathers every process's bytes, in order. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        match &self.0.members {
            Members::Single { .. } | Members::InProcess { .. } => Ok(vec![mine.to_vec()]),
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => Ok(members.communicator.all_gather_bytes(mine)?),
        }
    }

    /// Gathers every process's value, in order. Collective.
    ///
    /// # Errors
    /// If MPI fails or a process sends another type.
    pub(super) fn gather<V: Serialize + DeserializeOwned>(&self, mine: &V) -> Result<Vec<V>> {
        // Serialising into memory cannot fail.
        parsed(&self.all_gather(&serde_json::to_vec(mine).unwrap_or_default())?)
    }

    /// Each rank's host; empty if unknown. Collective.
    pub(super) fn hosts(&self) -> Result<Vec<String>> {
        let names = self.all_gather(host::name().as_bytes())?;
        let each = self.ranks() / names.len();
        let named = names.iter().flat_map(|name| std::iter::repeat_n(name, each));
        Ok(named.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// For failures that others cannot detect: prints a message, removes incomplete output files, and ends all
    /// processes of an MPI run, or this one.
    pub fn abort(&self, message: &str) -> ! {
        match &self.0.members {
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => members.communicator.abort(1, message),
            Members::Single { .. } | Members::InProcess { .. } => {
                let _removed = remove_temporaries();
                // A panic would change the exit code.
                let _ = writeln!(std::io::stderr(), "einsum-dist: {message}");
                std::process::exit(1)
            }
        }
    }
}

impl Shared {
    /// All cores of the process before [`World::place`].
    pub(super) fn place_of(&self, rank: usize) -> RankPlacement {
        if let Some(place) = self.placed.borrow().as_ref().and_then(|placed| placed.places.get(rank)) {
            return place.clone();
        }
        let units = host::cpus();
        let domains = host::allowed().map(|topology| topology.domains).unwrap_or_default();
        RankPlacement {
            domains: domains.iter().map(|domain| domain.number).collect(),
            units,
            ..RankPlacement::default()
        }
    }

    pub(super) fn placed(&self) -> bool {
        let placed = self.placed.borrow();
        placed.iter().flat_map(|placed| &placed.places).any(|place| place.spare || !place.workers.is_empty())
    }

    pub(super) fn by_workers<V: Send>(&self, rank: usize, work: impl FnOnce() -> V + Send) -> V {
        let ready = self.placed.borrow().as_ref().map(|placed| (placed.places.len(), placed.workers));
        // A later run reports that threads cannot be started.
        match ready.and_then(|(ranks, workers)| self.crews(ranks, workers).ok()) {
            Some(crews) => crews[rank].pool.install(work),
            None => work(),
        }
    }

    pub(super) fn crews(&self, ranks: usize, workers: usize) -> Result<Rc<Vec<Crew>>> {
        if let Some(crews) = self.crews.borrow().get(&workers) {
            return Ok(crews.clone());
        }
        let place =
            |rank: usize| self.placed.borrow().as_ref().map(|placed| placed.places[rank].clone()).unwrap_or_default();
        let build = |rank| Crew::new(rank, workers, place(rank));
        let crews = Rc::new((0..ranks).map(build).collect::<Result<Vec<_>>>()?);
        self.crews.borrow_mut().insert(workers, crews.clone());
        Ok(crews)
    }
}
