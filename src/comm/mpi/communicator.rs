//! Owns the library's communicators: duplicates of a user's, so that no messages of the user match ours.
//!
//! Invariants: MPI errors on a duplicate are returned, and the user's communicator keeps its error handler. The last
//! owner's drop frees a duplicate, unless requests are in flight or the thread is panicking, because freeing is
//! collective. A world has at most three; MPICH supports about 2,048.

use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

use ::mpi::ffi;
use ::mpi::raw::AsRaw;

use super::session::{Mpi, Session};
use crate::comm::CommError;

/// Time for a launcher to forward a rank's last output.
const FORWARDING: Duration = Duration::from_millis(100);

/// Clones are the same communicator.
#[derive(Debug, Clone)]
pub struct Communicator(Rc<Duplicate>);

#[derive(Debug)]
struct Duplicate {
    session: Rc<Session>,
    raw: ffi::MPI_Comm,
    rank: usize,
    size: usize,
    /// Whether MPI may still use it, so that it is never freed.
    kept: Cell<bool>,
    end: Rc<End>,
}

#[derive(Debug, Default)]
struct End {
    rank: Cell<usize>,
    timeout: Cell<Option<Duration>>,
    before_abort: OnceCell<BeforeAbort>,
}

struct BeforeAbort(Box<dyn Fn()>);

impl std::fmt::Debug for BeforeAbort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BeforeAbort")
    }
}

impl Communicator {
    /// All ranks. Collective.
    pub fn world(mpi: &Mpi) -> Result<Communicator, CommError> {
        // SAFETY: the world is an intracommunicator for as long as MPI is initialised, which `mpi` proves.
        unsafe { Self::from_raw(mpi, ffi::RSMPI_COMM_WORLD) }
    }

    /// A duplicate of a communicator of the `mpi` crate. Collective over it.
    ///
    /// # Errors
    /// If `user` is an intercommunicator, or MPI fails.
    pub fn of(mpi: &Mpi, user: &impl AsRaw<Raw = ffi::MPI_Comm>) -> Result<Communicator, CommError> {
        // SAFETY: `AsRaw` is an unsafe trait; its implementers guarantee a valid handle for as long as they are
        // borrowed.
        unsafe { Self::from_raw(mpi, user.as_raw()) }
    }

    /// A duplicate of the communicator with this handle. Collective over it.
    ///
    /// # Errors
    /// If `user` is an intercommunicator, or MPI fails.
    ///
    /// # Safety
    /// `user` is the handle of a live communicator.
    pub unsafe fn from_raw(mpi: &Mpi, user: ffi::MPI_Comm) -> Result<Communicator, CommError> {
        let session = mpi.session();
        let mut inter = 0;
        // SAFETY: `user` is a live communicator (the caller's contract); `inter` outlives the call.
        session.call("MPI_Comm_test_inter", || unsafe { ffi::MPI_Comm_test_inter(user, &raw mut inter) })?;
        if inter != 0 {
            return Err(CommError::Start("the communicator joins two groups; one group is needed".to_owned()));
        }
        let kept = Cell::new(true);
        let user = Communicator(Rc::new(Duplicate { session, raw: user, rank: 0, size: 0, kept, end: Rc::default() }));
        let ours = user.another()?;
        ours.0.end.rank.set(ours.rank());
        Ok(ours)
    }

    /// The same ranks; messages cannot match. Collective.
    pub(super) fn another(&self) -> Result<Communicator, CommError> {
        // SAFETY: reads a constant of the MPI library.
        let mut raw = unsafe { ffi::RSMPI_COMM_NULL };
        let new = &raw mut raw;
        // SAFETY: ours is live until dropped, a user's while borrowed (`from_raw`); `raw` outlives the request.
        self.complete("MPI_Comm_idup", |request| unsafe { ffi::MPI_Comm_idup(self.raw(), new, request) })?;
        adopt(self.0.session.clone(), raw, self.0.end.clone())
    }

    pub fn rank(&self) -> usize {
        self.0.rank
    }

    pub fn size(&self) -> usize {
        self.0.size
    }

    pub(super) fn raw(&self) -> ffi::MPI_Comm {
        self.0.raw
    }

    pub(super) fn session(&self) -> &Session {
        &self.0.session
    }

    /// The MPI library's name, or the first line of its version text.
    pub fn library(&self) -> String {
        self.session().library()
    }

    /// Prevents freeing: requests in flight will not complete.
    pub(super) fn keep(&self) {
        self.0.kept.set(true);
    }

    /// Sets after what time a collective call of related communicators stops the run; `None` is forever.
    pub fn give_up_after(&self, timeout: Option<Duration>) {
        self.0.end.timeout.set(timeout);
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        self.0.end.timeout.get()
    }

    /// Sets what [`Communicator::abort`] runs first; later calls have no effect.
    pub fn before_abort(&self, act: impl Fn() + 'static) {
        let _ = self.0.end.before_abort.set(BeforeAbort(Box::new(act)));
    }

    /// Prints the reason on standard error, and ends every rank with exit code `code`; only for MPI's thread.
    ///
    /// On other communicators than the world, MPICH's `MPI_Abort` would wait until all ranks call MPI.
    pub fn abort(&self, code: i32, message: &str) -> ! {
        if let Some(BeforeAbort(act)) = self.0.end.before_abort.get() {
            act();
        }
        let host = ::mpi::environment::processor_name().unwrap_or_default();
        // One system call keeps lines from several ranks apart.
        let rank = self.0.end.rank.get();
        let line = format!("einsum-dist: rank {rank} on {host}: {message}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        // MPICH's launcher drops output that it has not forwarded.
        std::thread::sleep(FORWARDING);
        let returned = self.session().call("MPI_Abort", || {
            // SAFETY: MPI is not finalised while a communicator lives.
            unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) }
        });
        let _ = writeln!(std::io::stderr(), "einsum-dist: rank {rank}: MPI_Abort returned: {returned:?}");
        std::process::abort()
    }
}

fn adopt(session: Rc<Session>, raw: ffi::MPI_Comm, end: Rc<End>) -> Result<Communicator, CommError> {
    // SAFETY: reads a constant of the MPI library.
    let errors_return = unsafe { ffi::RSMPI_ERRORS_RETURN };
    let mut duplicate = Duplicate { session: session.clone(), raw, rank: 0, size: 0, kept: Cell::new(false), end };
    session.call("MPI_Comm_set_errhandler", || {
        // SAFETY: `raw` is the communicator just created.
        unsafe { ffi::MPI_Comm_set_errhandler(raw, errors_return) }
    })?;
    let (mut rank, mut size): (c_int, c_int) = (0, 0);
    // SAFETY: as above; `rank` outlives the call.
    session.call("MPI_Comm_rank", || unsafe { ffi::MPI_Comm_rank(raw, &raw mut rank) })?;
    // SAFETY: as above; `size` outlives the call.
    session.call("MPI_Comm_size", || unsafe { ffi::MPI_Comm_size(raw, &raw mut size) })?;
    (duplicate.rank, duplicate.size) = (rank as usize, size as usize);
    Ok(Communicator(Rc::new(duplicate)))
}

impl Drop for Duplicate {
    fn drop(&mut self) {
        if self.kept.get() || std::thread::panicking() || ::mpi::environment::is_finalized() {
            return;
        }
        // A caller of `drop` could not handle the error.
        // SAFETY: the handle is ours alone and live, and nothing uses it afterwards.
        let _ = self.session.call("MPI_Comm_free", || unsafe { ffi::MPI_Comm_free(&raw mut self.raw) });
    }
}
