//! Owns MPI: started once, used from one thread, finalised only after success.
//!
//! Invariants: every MPI call goes through [`Session::call`], which checks the return code and, in debug builds, the
//! thread (`MPI_THREAD_FUNNELED`), except queries of MPI's state, a host name or an error's text. MPI that the user
//! initialised is never finalised here, and its world communicator keeps its error handler. Otherwise the world returns
//! errors (MPICH reports failed requests there).
//!
//! MPI is not finalised on drop: a rank that fails alone would wait in `MPI_Finalize` for ranks that wait for it.

use std::ffi::c_int;
use std::rc::Rc;
use std::thread::ThreadId;

use ::mpi::environment::{is_finalized, is_initialized};
use ::mpi::ffi;

use crate::comm::CommError;
use crate::comm::launcher::{Launcher, LauncherKind, launchers};

#[derive(Debug)]
pub struct Mpi {
    session: Rc<Session>,
}

#[derive(Debug)]
pub(super) struct Session {
    thread: ThreadId,
    /// Whether this session initialised MPI.
    ours: bool,
}

impl Mpi {
    /// Initialises MPI for the calling thread, or uses the user's initialisation.
    ///
    /// # Errors
    /// If no launcher started this process, or a launcher of a different MPI library did. If this initialises MPI, which
    /// supports less than `MPI_THREAD_FUNNELED`, or the calling thread is not MPI's main thread. If MPI has already been finalised.
    pub fn init() -> Result<Mpi, CommError> {
        if is_finalized() {
            return Err(start("it was finalised before, and it starts only once in a process"));
        }
        let ours = !is_initialized();
        let launchers = launchers();
        if ours && launchers.is_empty() {
            return Err(start("no launcher started this process; use mpirun"));
        }
        let session = Rc::new(Session { thread: std::thread::current().id(), ours });
        if ours {
            session.refuse_hydra(&launchers)?;
        }
        session.require_threads()?;
        if ours {
            session.return_errors()?;
            if let Err(error) = session.require_world(&launchers) {
                // Every rank detects the same error.
                session.finalise()?;
                return Err(error);
            }
        }
        Ok(Mpi { session })
    }

    /// Finalises MPI if [`Mpi::init`] initialised it. Collective, and the last call of a successful run.
    ///
    /// # Errors
    /// If a communicator or an endpoint still exists, or MPI fails.
    pub fn finalise(self) -> Result<(), CommError> {
        if !self.session.ours {
            return Ok(());
        }
        match Rc::try_unwrap(self.session) {
            Ok(session) => session.finalise(),
            Err(_) => {
                Err(CommError::Mpi { call: "MPI_Finalize", message: "a communicator is still in use".to_owned() })
            }
        }
    }

    pub(super) fn session(&self) -> Rc<Session> {
        self.session.clone()
    }
}

impl Session {
    pub(super) fn call(&self, name: &'static str, call: impl FnOnce() -> c_int) -> Result<(), CommError> {
        debug_assert!(
            self.thread == std::thread::current().id(),
            "{name} is called from a thread that does not own MPI"
        );
        match call() {
            0 => Ok(()),
            code => Err(CommError::Mpi { call: name, message: error_string(code) }),
        }
    }

    fn require_threads(&self) -> Result<(), CommError> {
        let (mut level, mut main) = (0, 0);
        // SAFETY: reads a constant of the MPI library.
        let funneled = unsafe { ffi::RSMPI_THREAD_FUNNELED };
        if self.ours {
            self.call("MPI_Init_thread", || {
                // SAFETY: MPI is not initialised (the caller checked), null stands for no arguments since MPI 2, and
                // `level` outlives the call.
                unsafe { ffi::MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), funneled, &raw mut level) }
            })?;
        } else {
            // SAFETY: MPI is initialised and not finalised; `level` outlives the call.
            self.call("MPI_Query_thread", || unsafe { ffi::MPI_Query_thread(&raw mut level) })?;
        }
        // SAFETY: MPI is initialised and not finalised; `main` outlives the call.
        self.call("MPI_Is_thread_main", || unsafe { ffi::MPI_Is_thread_main(&raw mut main) })?;
        // Codes that call `MPI_Init`, as BLACS does, get a single thread, which MPI libraries treat like a funneled one.
        if self.ours && level < funneled {
            return Err(start("it supports only a single thread; MPI_THREAD_FUNNELED is needed"));
        }
        if main == 0 {
            return Err(start("this thread did not initialise it; only MPI's main thread may communicate"));
        }
        Ok(())
    }

    fn return_errors(&self) -> Result<(), CommError> {
        self.call("MPI_Comm_set_errhandler", || {
            // SAFETY: MPI is initialised; both arguments are constants of the MPI library.
            unsafe { ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_WORLD, ffi::RSMPI_ERRORS_RETURN) }
        })
    }

    /// Refuses another MPI library's mpirun, which makes every process its own run.
    fn require_world(&self, launchers: &[Launcher]) -> Result<(), CommError> {
        let mut world = 0;
        // SAFETY: MPI is initialised, the world is a valid communicator, and `world` outlives the call.
        self.call("MPI_Comm_size", || unsafe { ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &raw mut world) })?;
        let fits = |launcher: &Launcher| launcher.size.is_none_or(|size| size as i64 == i64::from(world));
        match launchers.first() {
            Some(launcher) if !launchers.iter().any(fits) => Err(start(&foreign(launcher, &self.library()))),
            _ => Ok(()),
        }
    }

    /// Refuses Open MPI under MPICH's launcher (Hydra) before initialisation: each process would be its own run.
    fn refuse_hydra(&self, launchers: &[Launcher]) -> Result<(), CommError> {
        let hydra = std::env::var_os("HYDI_CONTROL_FD").is_some();
        match launchers {
            [launcher] if hydra && launcher.kind == LauncherKind::Mpich && self.library() == "Open MPI" => {
                Err(start(&foreign(launcher, "Open MPI")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn library(&self) -> String {
        let version = library_version();
        let known = ["Open MPI", "MPICH", "Intel(R) MPI", "MVAPICH"].into_iter().find(|name| version.starts_with(name));
        known.or(version.lines().next()).unwrap_or("another MPI").to_owned()
    }

    fn finalise(&self) -> Result<(), CommError> {
        // SAFETY: this session initialised MPI, none of its communicators is left, and it is not used afterwards.
        self.call("MPI_Finalize", || unsafe { ffi::MPI_Finalize() })
    }
}

/// The MPI family of this build: `Open MPI`, or `MPICH` (also Intel MPI and MVAPICH).
pub fn family() -> &'static str {
    if size_of::<ffi::MPI_Comm>() == size_of::<usize>() { "Open MPI" } else { "MPICH" }
}

/// The MPI library's description of itself, even before initialisation.
pub fn library_version() -> String {
    // The longest of any MPI library: another than the build's may answer.
    const MAX_BYTES: usize = 8192;
    const { assert!(MAX_BYTES >= ffi::MPI_MAX_LIBRARY_VERSION_STRING as usize) };
    let mut text = [0u8; MAX_BYTES];
    let mut length = 0;
    // SAFETY: `text` is as long as MPI requires, and both outputs outlive the call, which may be made at any time, from
    // any thread.
    let code = unsafe { ffi::MPI_Get_library_version(text.as_mut_ptr().cast(), &raw mut length) };
    let version = text.get(..length as usize).filter(|_| code == 0).unwrap_or_default();
    String::from_utf8_lossy(version).trim_end_matches('\0').to_owned()
}

fn start(message: &str) -> CommError {
    CommError::Start(message.to_owned())
}

fn foreign(launcher: &Launcher, library: &str) -> String {
    let Launcher { kind, size, .. } = launcher;
    let size = size.unwrap_or(1);
    let wrapper = match kind {
        LauncherKind::OpenMpi if library != "Open MPI" => " (MPICC=mpicc.openmpi on Debian)",
        LauncherKind::Mpich if library != "MPICH" => " (MPICC=mpicc.mpich on Debian)",
        _ => "",
    };
    format!(
        "started by {kind} but built with {library}: {size} separate runs of one rank; build with the launcher's own \
         MPI{wrapper}, or use the mpirun of {library}"
    )
}

pub(super) fn error_string(code: c_int) -> String {
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: `text` is as long as MPI requires, and both outputs outlive the call, which may be made at any time.
    let answered = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &raw mut length) };
    match text.get(..length as usize) {
        Some(text) if answered == 0 && !text.is_empty() => String::from_utf8_lossy(text).into_owned(),
        _ => format!("error {code}"),
    }
}

#[cfg(test)]
mod tests;
