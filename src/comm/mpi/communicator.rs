//! Owns the communicators of this library. Each is a duplicate of a user's communicator, or contains the ranks of such
//! a duplicate that are on one node. The user's messages cannot match ours, because duplicates keep their messages
//! separate.
//!
//! Invariants: MPI errors on a duplicate are returned, and the user's communicator keeps its error handler. A duplicate
//! is freed when its last owner drops it, unless requests on it are still in flight or the thread is panicking. Freeing
//! is collective, and the other ranks might not take part after a panic. A communicator shares its timeout with all
//! communicators derived from it. A communicator is bound to the thread that initialised MPI (`session`).
//!
//! MPI implementations support few communicators (MPICH about 2,048). A world has at most five communicators, which are
//! created when the world starts.

use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

use ::mpi::ffi;
use ::mpi::raw::AsRaw;

use super::session::{Mpi, Session};
use crate::comm::CommError;

/// Time allowed for a launcher to forward the last output of a rank.
const FORWARDING: Duration = Duration::from_millis(100);

/// The ranks of a run. Cloning is cheap; all clones are the same communicator.
#[derive(Debug, Clone)]
pub struct Communicator(Rc<Duplicate>);

#[derive(Debug)]
struct Duplicate {
    session: Rc<Session>,
    raw: ffi::MPI_Comm,
    rank: usize,
    size: usize,
    /// Whether MPI may still use the communicator, in which case it is never freed.
    kept: Cell<bool>,
    end: Rc<End>,
}

/// When and how a rank stops the run. A communicator shares these settings with all communicators derived from it.
#[derive(Debug, Default)]
struct End {
    /// The rank printed in the error message.
    rank: Cell<usize>,
    /// Maximum time to wait for other ranks in a collective call; `None` if there is no limit.
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
    /// Returns the communicator of all ranks. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn world(mpi: &Mpi) -> Result<Communicator, CommError> {
        // SAFETY: the world is an intracommunicator for as long as MPI is initialised, which `mpi` proves.
        unsafe { Self::from_raw(mpi, ffi::RSMPI_COMM_WORLD) }
    }

    /// Returns a duplicate of a communicator of the `mpi` crate. Collective over that communicator.
    ///
    /// # Errors
    /// If `user` is an intercommunicator, or MPI fails.
    pub fn of(mpi: &Mpi, user: &impl AsRaw<Raw = ffi::MPI_Comm>) -> Result<Communicator, CommError> {
        // SAFETY: `AsRaw` is an unsafe trait; its implementers guarantee a valid handle for as long as they are
        // borrowed.
        unsafe { Self::from_raw(mpi, user.as_raw()) }
    }

    /// Returns a duplicate of the communicator with this handle. Collective over that communicator.
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
        // SAFETY: as above.
        let ours = unsafe { duplicate(session, user, Rc::default()) }?;
        ours.0.end.rank.set(ours.rank());
        Ok(ours)
    }

    /// Returns a new communicator with the same ranks, so that messages with different purposes cannot match.
    /// Collective.
    pub(super) fn another(&self) -> Result<Communicator, CommError> {
        // SAFETY: our own duplicate is live until dropped.
        unsafe { duplicate(self.0.session.clone(), self.0.raw, self.0.end.clone()) }
    }

    /// Returns the communicator of the ranks that can share memory with this rank. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub(super) fn split_by_node(&self) -> Result<Communicator, CommError> {
        self.derive("MPI_Comm_split_type", |key, raw| {
            // SAFETY: our own duplicate is live until dropped; `raw` outlives the call; all other handles are
            // constants of MPI.
            unsafe { ffi::MPI_Comm_split_type(self.0.raw, ffi::RSMPI_COMM_TYPE_SHARED, key, ffi::RSMPI_INFO_NULL, raw) }
        })
    }

    /// Returns the communicator of the ranks with the same color. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub(super) fn split(&self, color: usize) -> Result<Communicator, CommError> {
        self.derive("MPI_Comm_split", |key, raw| {
            // SAFETY: our own duplicate is live until dropped; `raw` outlives the call.
            unsafe { ffi::MPI_Comm_split(self.0.raw, color as c_int, key, raw) }
        })
    }

    fn derive(
        &self,
        name: &'static str,
        call: impl FnOnce(c_int, *mut ffi::MPI_Comm) -> c_int,
    ) -> Result<Communicator, CommError> {
        // SAFETY: reads a constant of the MPI library.
        let mut raw = unsafe { ffi::RSMPI_COMM_NULL };
        self.session().call(name, || call(self.rank() as c_int, &raw mut raw))?;
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

    /// Returns the name of the MPI library, or the first line of its version text if the library is unknown.
    pub fn library(&self) -> String {
        self.session().library()
    }

    /// Prevents the communicator from being freed, because it has requests in flight that no call will complete. MPI
    /// can still be finalised.
    pub(super) fn keep(&self) {
        self.0.kept.set(true);
    }

    /// Sets how long a collective call waits for other ranks before it stops the run; `None` waits forever. This
    /// timeout also applies to all communicators that were or will be derived from this one.
    pub fn give_up_after(&self, timeout: Option<Duration>) {
        self.0.end.timeout.set(timeout);
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        self.0.end.timeout.get()
    }

    /// Sets the action that [`Communicator::abort`] runs first. A collective call that times out also aborts, and so
    /// runs it. Only the first call of this function has an effect.
    pub fn before_abort(&self, act: impl Fn() + 'static) {
        let _ = self.0.end.before_abort.set(BeforeAbort(Box::new(act)));
    }

    /// Prints the reason on standard error, then terminates every rank of the run with exit code `code`. Only the
    /// thread that owns MPI may call this function.
    ///
    /// Aborts the world communicator, and therefore all ranks. The MPI standard does not require that aborting any
    /// other communicator terminates all ranks, although MPI implementations do so. On any other communicator, MPICH's
    /// `MPI_Abort` waits until the other ranks call MPI.
    pub fn abort(&self, code: i32, message: &str) -> ! {
        if let Some(BeforeAbort(act)) = self.0.end.before_abort.get() {
            act();
        }
        let host = ::mpi::environment::processor_name().unwrap_or_default();
        // The message is written with one system call, so that lines from several ranks do not mix.
        let rank = self.0.end.rank.get();
        let line = format!("einsum-dist: rank {rank} on {host}: {message}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        // When MPICH's launcher receives the abort, it drops output that it has not forwarded yet, so the rank waits
        // first.
        std::thread::sleep(FORWARDING);
        let returned = self.session().call("MPI_Abort", || {
            // SAFETY: MPI is not finalised while a communicator lives.
            unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) }
        });
        let _ = writeln!(std::io::stderr(), "einsum-dist: rank {rank}: MPI_Abort returned: {returned:?}");
        std::process::abort()
    }
}

/// # Safety
/// `from` is the handle of a live intracommunicator.
unsafe fn duplicate(session: Rc<Session>, from: ffi::MPI_Comm, end: Rc<End>) -> Result<Communicator, CommError> {
    // SAFETY: reads a constant of the MPI library.
    let mut raw = unsafe { ffi::RSMPI_COMM_NULL };
    // SAFETY: `from` is live (the caller's contract); `raw` outlives the call.
    session.call("MPI_Comm_dup", || unsafe { ffi::MPI_Comm_dup(from, &raw mut raw) })?;
    adopt(session, raw, end)
}

/// Takes ownership of a communicator that has just been created.
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
        // A communicator that cannot be freed leaks, because a caller of `drop` could not handle the error.
        // SAFETY: the handle is ours alone and live, and nothing uses it afterwards.
        let _ = self.session.call("MPI_Comm_free", || unsafe { ffi::MPI_Comm_free(&raw mut self.raw) });
    }
}
