//! On signals that end the program, removes temporary files, then ends by the same signal for the parent.
//! `docs/files.md` describes signals and launchers.
//!
//! A thread waits for them, from before the first file is created. After another signal, no other thread creates or
//! renames a file. While a run has a checkpoint, the first signal only asks it to stop.
//!
//! Because MPICH's launcher kills rank 0 by SIGKILL, rank 0 starts this program again as a guard, in a separate process
//! group, which waits for the end of a pipe from rank 0, and removes the temporary files that no process has locked.
//!
//! SIGPIPE and SIGSEGV are not handled.

use std::ffi::c_int;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, Builder};
use std::time::Duration;

use einsum_dist::World;
use einsum_dist::comm::ignored_signals::is_ignored;
use einsum_dist::comm::launcher::launcher;
use einsum_dist::io::output::{remove_leftovers, remove_temporaries};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Other ranks end this much later, because launchers then kill rank 0, with the most files.
const AFTER_RANK_0: Duration = Duration::from_millis(100);

/// Signals that end a program by default.
const ENDING: [c_int; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM];

/// The flag that the first signal raises; `None` if signals end the program at once.
static STOP: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// The signal that stopped the run, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// While this value exists, the first signal raises a flag.
pub struct Stopping(Arc<AtomicBool>);

impl Stopping {
    pub fn new() -> Stopping {
        let flag = Arc::new(AtomicBool::new(false));
        *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(flag.clone());
        Stopping(flag)
    }

    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        *STOP.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

pub fn end_by_received() {
    let signal = RECEIVED.load(Ordering::Relaxed);
    if signal != 0 {
        // Does not return, because these signals end the process by default.
        let _ = emulate_default_handler(signal);
    }
}

/// Raises the flag; false if there is none, or it is already raised.
fn stops_run(signal: c_int) -> bool {
    let stop = STOP.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(flag) = stop.as_ref() else { return false };
    RECEIVED.store(signal, Ordering::Relaxed);
    !flag.swap(true, Ordering::Relaxed)
}

/// Starts the waiting thread; without it, signals keep their default actions.
pub fn install() {
    // The call that made a file too large then fails; programs that this one starts would inherit an ignored signal.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let wanted = ENDING.into_iter().filter(|&signal| !is_ignored(signal)).collect::<Vec<_>>();
    let (ready, waits) = mpsc::channel();
    // A signal that no thread waits for would be lost.
    let started = Builder::new().name("signals".to_owned()).spawn(move || {
        let signals = Signals::new(&wanted);
        // The receiver exists until then.
        let _ = ready.send(());
        if let Some(signal) = signals.ok().and_then(|mut signals| signals.forever().find(|&signal| !stops_run(signal)))
        {
            end_by(signal);
        }
    });
    if started.is_ok() {
        let _ = waits.recv();
    }
}

fn end_by(signal: c_int) {
    let removed = remove_temporaries();
    if launcher().is_some_and(|launcher| launcher.rank > 0) {
        thread::sleep(AFTER_RANK_0);
        removed.remove_again();
    }
    let _ = emulate_default_handler(signal);
}

/// Marks a guard, whose arguments are the output paths.
const GUARD_VARIABLE: &str = "EINSUM_DIST_GUARD";

const HYDRA: &str = "HYDI_CONTROL_FD";

/// A killed rank's locks are released one by one.
const MAX_ATTEMPTS: usize = 40;
const RETRY_INTERVAL: Duration = Duration::from_millis(25);

/// Whether this process is a guard; returns after it has removed rank 0's leftovers.
pub fn run_if_guard() -> bool {
    if std::env::var_os(GUARD_VARIABLE).is_none() {
        return false;
    }
    let mut ignored = Vec::new();
    // Returns only when rank 0 has ended.
    let _ = std::io::stdin().lock().read_to_end(&mut ignored);
    let outputs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for _ in 0..MAX_ATTEMPTS {
        let alive = outputs.iter().flat_map(|path| remove_leftovers(path)).any(|leftover| leftover.alive);
        if !alive {
            break;
        }
        thread::sleep(RETRY_INTERVAL);
    }
    true
}

/// Starts these outputs' guard on rank 0 under MPICH's launcher.
pub fn start_guard<'a>(world: &World, outputs: impl Iterator<Item = &'a Path>) {
    let outputs: Vec<&Path> = outputs.collect();
    if !world.is_root() || outputs.is_empty() || std::env::var_os(HYDRA).is_none() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(outputs).env(GUARD_VARIABLE, "1").process_group(0);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(guard) = started {
        // The pipe stays open until this process ends, without waiting for the guard.
        std::mem::forget(guard);
    }
}
