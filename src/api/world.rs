//! The ranks that run a plan: one, several in this process, or the processes of an MPI program.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;
#[cfg(feature = "mpi")]
use std::time::Duration;

use super::error::Rank;
use super::placement::{AgreedPlacement, Crew};
use super::{Error, Program, Result, host, memory_limits};
use crate::exec::{Moved, RunOptions};
use crate::io::output::remove_temporaries;
use crate::kernel::Element;
use crate::machine::{Machine, RankPlacement};
use crate::plan::Plan;

#[cfg(feature = "mpi")]
use super::routes;
#[cfg(feature = "mpi")]
use crate::comm::Transport;
#[cfg(feature = "mpi")]
use crate::comm::mpi::{Communicator, Mpi};

/// The members of a run. Not `Send`: the thread that makes it communicates while a program runs. Clones are the same
/// world.
///
/// | | ranks | threads |
/// |---|---|---|
/// | [`World::single`] | 1 | the caller's rayon pool |
/// | [`World::in_process`] | threads of this process | one that communicates for each rank, and a pool of workers |
/// | `World::mpi`, `World::from_communicator` (feature `mpi`) | processes | the caller communicates, a pool of workers |
///
/// "Collective" means: every process of the world calls it, in the same order.
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
    /// What [`World::place`] has given to each local rank.
    pub(super) placed: RefCell<Option<AgreedPlacement>>,
    pub(super) options: RunOptions,
    moved: Cell<Moved>,
    not_send: PhantomData<*const ()>,
}

/// Who is in a world.
pub(super) enum Members {
    Single,
    InProcess {
        ranks: usize,
        bytes_per_second: Option<f64>,
    },
    #[cfg(feature = "mpi")]
    Mpi(Box<MpiMembers>),
}

#[cfg(feature = "mpi")]
pub(super) struct MpiMembers {
    // Dropped in this order: the endpoint and the communicator before MPI is finalised.
    pub(super) endpoint: RefCell<Option<crate::comm::Endpoint>>,
    pub(super) communicator: Communicator,
    transport: String,
    mpi: RefCell<Option<Mpi>>,
}

impl World {
    fn of(members: Members, options: RunOptions) -> World {
        #[cfg(feature = "mpi")]
        if let Members::Mpi(members) = &members {
            // Also where MPI finds out that the run has to end. No file may follow, and no second removal, which would wait.
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

    /// This thread alone, in its current rayon pool; no thread and no pool of its own.
    pub fn single() -> World {
        World::of(Members::Single, RunOptions::default())
    }

    /// This many ranks inside the process, each with a communication thread and a pool of workers.
    pub fn in_process(ranks: usize) -> World {
        World::of(Members::InProcess { ranks: ranks.max(1), bytes_per_second: None }, RunOptions::default())
    }

    /// As [`World::in_process`], with transfers slowed down to this many bytes per second and pair of ranks; one byte at least.
    pub fn throttled(ranks: usize, bytes_per_second: f64) -> World {
        let members = Members::InProcess { ranks: ranks.max(1), bytes_per_second: Some(bytes_per_second.max(1.0)) };
        World::of(members, RunOptions::default())
    }

    /// The processes that mpirun started; initialises MPI unless the program has, with `MPI_THREAD_FUNNELED`. Collective.
    ///
    /// # Errors
    /// No launcher, a launcher of the other MPI, or an MPI initialised without thread support.
    #[cfg(feature = "mpi")]
    pub fn mpi() -> Result<World> {
        World::mpi_by(Transport::Auto)
    }

    /// As [`World::mpi`], with this transport. Collective.
    ///
    /// # Errors
    /// As [`World::mpi`]; also where memory cannot be shared, or no two ranks are on one node, and it is to be.
    #[cfg(feature = "mpi")]
    pub fn mpi_by(transport: Transport) -> Result<World> {
        let mpi = Mpi::init()?;
        let communicator = Communicator::world(&mpi)?;
        World::of_mpi(mpi, communicator, transport)
    }

    /// The processes of a communicator of the user's, which is duplicated and stays as it is. Collective over it.
    ///
    /// # Errors
    /// As [`World::mpi`].
    #[cfg(feature = "mpi")]
    pub fn from_communicator(communicator: &impl ::mpi::raw::AsRaw<Raw = ::mpi::ffi::MPI_Comm>) -> Result<World> {
        let mpi = Mpi::init()?;
        let communicator = Communicator::of(&mpi, communicator)?;
        World::of_mpi(mpi, communicator, Transport::Auto)
    }

    #[cfg(feature = "mpi")]
    fn of_mpi(mpi: Mpi, communicator: Communicator, transport: Transport) -> Result<World> {
        let endpoint = routes::endpoint(&communicator, transport)?;
        let transport = endpoint.name();
        let endpoint = RefCell::new(Some(crate::comm::Endpoint::Mpi(Box::new(endpoint))));
        let members = MpiMembers { endpoint, communicator, transport, mpi: RefCell::new(Some(mpi)) };
        Ok(World::of(Members::Mpi(Box::new(members)), RunOptions::default()))
    }

    /// The same world with other ways to run: overlap, transfers in flight, failures for tests.
    ///
    /// # Panics
    /// When programs of the world exist already.
    pub fn with(self, options: RunOptions) -> World {
        let shared = Rc::try_unwrap(self.0).unwrap_or_else(|_| panic!("options are set before programs are compiled"));
        #[cfg(feature = "mpi")]
        if let Members::Mpi(members) = &shared.members {
            members.communicator.give_up_after(options.timeout);
        }
        World(Rc::new(Shared { options, ..shared }))
    }

    /// Gives back the memory that processes share, and ends MPI where this world started it; a world that is dropped does neither, as it
    /// would wait for the others. Collective; programs and tensors of the world must be gone.
    ///
    /// # Errors
    /// A program or tensor still holds the world, or MPI fails.
    pub fn finish(self) -> Result<()> {
        let shared = Rc::try_unwrap(self.0).map_err(|_| Error::Usage("a program still holds the world".to_owned()))?;
        match shared.members {
            Members::Single | Members::InProcess { .. } => Ok(()),
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => {
                let MpiMembers { endpoint, communicator, mpi, .. } = *members;
                endpoint.into_inner().map_or(Ok(()), crate::comm::Endpoint::close)?;
                // Who is first in MPI_Finalize answers nobody any more: without pauses that all make together, one in five runs
                // between hosts did not end (MPICH 4.0 with UCX over TCP).
                for _ in 0..2 {
                    communicator.barrier()?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                drop(communicator);
                mpi.into_inner().map_or(Ok(()), |mpi| Ok(mpi.finalise()?))
            }
        }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        match &self.0.members {
            Members::Single => 1,
            Members::InProcess { ranks, .. } => *ranks,
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => members.communicator.size(),
        }
    }

    /// The ranks that live in this process.
    pub fn local_ranks(&self) -> Range<usize> {
        match &self.0.members {
            Members::Single => 0..1,
            Members::InProcess { ranks, .. } => 0..*ranks,
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => members.communicator.rank()..members.communicator.rank() + 1,
        }
    }

    /// Whether rank 0 lives here: the one that prints.
    pub fn is_root(&self) -> bool {
        self.local_ranks().start == 0
    }

    /// The transport's name in reports.
    pub fn transport(&self) -> &str {
        match &self.0.members {
            Members::Single => "none",
            Members::InProcess { bytes_per_second: None, .. } => "shared",
            Members::InProcess { bytes_per_second: Some(_), .. } => "throttled",
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => &members.transport,
        }
    }

    /// Bytes per second of links that are slower than they could be.
    pub(super) fn throttle(&self) -> Option<f64> {
        match &self.0.members {
            Members::InProcess { bytes_per_second, .. } => *bytes_per_second,
            _ => None,
        }
    }

    /// What the local ranks have moved in all runs of this world together: contractions, redistributions and gathers.
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

    /// Whether the processes of this world, and their hosts, have the memory that a plan needs, operands and result included; each rank
    /// needs `beside` bytes for other things, too. Limits of processes and control groups count. Collective.
    ///
    /// # Errors
    /// The plan is for other ranks, or the ranks of a process or of a host need more than it can get; says how much more.
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

    /// Bytes that every process of this world can get beside what a plan needs on its ranks, before anything of that is allocated: the
    /// least of all, and `u64::MAX` where nothing limits them. Collective.
    ///
    /// # Errors
    /// MPI fails.
    pub fn spare_memory(&self, plan: &Plan) -> Result<u64> {
        let needs = self.local_ranks().map(|rank| plan.peak_bytes(rank)).fold(0, u64::saturating_add);
        let (needed, processes) = self.needed_here(needs)?;
        let of_process = memory_limits::of_process().map_or(u64::MAX, |(available, _)| available.saturating_sub(needs));
        let of_host =
            memory_limits::of_host().map_or(u64::MAX, |available| available.saturating_sub(needed) / processes.max(1));
        let all = self.all_gather(&of_process.min(of_host).to_le_bytes())?;
        Ok(all.iter().filter_map(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?))).min().unwrap_or(0))
    }

    /// What the processes of this host need together, and how many these are. Collective.
    fn needed_here(&self, needs: u64) -> Result<(u64, u64)> {
        let mine = format!("{}\n{needs}", host::name());
        let everyone = self.all_gather(mine.as_bytes())?;
        let here = everyone.iter().filter_map(|bytes| std::str::from_utf8(bytes).ok()?.split_once('\n'));
        let here = here.filter(|(name, _)| *name == host::name());
        let each = here.filter_map(|(_, bytes)| bytes.parse::<u64>().ok());
        Ok(each.fold((0, 0), |(all, count), bytes| (bytes.saturating_add(all), count + 1)))
    }

    /// The plan is for the ranks of this world.
    pub(super) fn expect_plan(&self, plan: &Plan) -> Result<()> {
        if plan.ranks() == self.ranks() {
            return Ok(());
        }
        Err(Error::Usage(format!("the plan is for {} ranks, the world has {}", plan.ranks(), self.ranks())))
    }

    /// So many workers for each rank of this world are a machine that can be planned for.
    pub(super) fn expect_size(&self, workers: usize) -> Result<()> {
        Machine::new(self.ranks(), workers)
            .check()
            .map_err(|why| Error::Usage(format!("a world cannot be that large: {why}")))
    }

    /// Compiles a plan: schedules of the local ranks, kernels, buffers. Collective; compares fingerprints first.
    ///
    /// # Errors
    /// The plan is for other ranks or another element type, ranks have different plans, or on any rank its kernel is not
    /// available or memory runs out.
    pub fn compile<T: Element>(&self, plan: &Plan) -> Result<Program<T>> {
        Program::compile(self, plan)
    }

    /// Whether all processes are well. Collective: every process calls it with its own result, and gets its own value
    /// back only when nobody failed.
    ///
    /// # Errors
    /// The own error, or the first one of another process.
    pub fn agree<V>(&self, mine: Result<V>) -> Result<V> {
        match &self.0.members {
            Members::Single | Members::InProcess { .. } => mine,
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => {
                // The first character says whose fault it is, so that all processes exit alike; then comes the host.
                let told = mine.as_ref().map(drop).map_err(|error| {
                    format!("{}{}\n{}", if error.is_input() { 'i' } else { 'r' }, host::name(), error.told())
                });
                let verdict = members.communicator.agree(told)?;
                match (mine, verdict) {
                    (Ok(value), Ok(())) => Ok(value),
                    (Err(error), _) => Err(error),
                    (Ok(_), Err(failures)) => {
                        let (number, told) = failures.first().map_or((0, "r"), |f| (f.rank, f.message.as_str()));
                        let (host, message) = told[1..].split_once('\n').unwrap_or_default();
                        let (rank, message) = (Rank { number, host: host.to_owned() }, message.to_owned());
                        Err(Error::Elsewhere { rank, input: told.starts_with('i'), message })
                    }
                }
            }
        }
    }

    /// Some bytes of every process, by process. Collective.
    ///
    /// # Errors
    /// MPI fails.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        match &self.0.members {
            Members::Single | Members::InProcess { .. } => Ok(vec![mine.to_vec()]),
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => Ok(members.communicator.all_gather_bytes(mine)?),
        }
    }

    /// The name of each rank's host, empty where the system does not tell. Collective.
    pub(super) fn hosts(&self) -> Result<Vec<String>> {
        let names = self.all_gather(host::name().as_bytes())?;
        let each = self.ranks() / names.len();
        let named = names.iter().flat_map(|name| std::iter::repeat_n(name, each));
        Ok(named.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Ends all ranks of an MPI run with a message. Only after a failure that the others cannot know of; elsewhere the
    /// process itself ends. Output files that are not complete are gone then.
    pub fn abort(&self, message: &str) -> ! {
        match &self.0.members {
            #[cfg(feature = "mpi")]
            Members::Mpi(members) => members.communicator.abort(1, message),
            Members::Single | Members::InProcess { .. } => {
                let _removed = remove_temporaries();
                // Where standard error cannot be written, a panic would end the process by another code.
                let _ = writeln!(std::io::stderr(), "einsum-dist: {message}");
                std::process::exit(1)
            }
        }
    }
}

impl Shared {
    /// Where a local rank computes: the cores of its process, unless it has some of them for itself.
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

    /// Whether local ranks have cores of their own from [`World::place`].
    pub(super) fn placed(&self) -> bool {
        let placed = self.placed.borrow();
        placed.iter().flat_map(|placed| &placed.places).any(|place| place.spare || !place.workers.is_empty())
    }

    /// Has something done by the workers of a local rank where [`World::place`] has bound them, else by the caller.
    pub(super) fn by_workers<V: Send>(&self, rank: usize, work: impl FnOnce() -> V + Send) -> V {
        let ready = self.placed.borrow().as_ref().map(|placed| (placed.places.len(), placed.workers));
        // Without threads the run itself will say so.
        match ready.and_then(|(ranks, workers)| self.crews(ranks, workers).ok()) {
            Some(crews) => crews[rank].pool.install(work),
            None => work(),
        }
    }

    /// One pool per local rank; made once for each number of workers that plans ask for.
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
