//! Handles signals that end the program. Removes the program's temporary files, then ends the program by the same
//! signal, so that the parent process sees the expected status.
//!
//! A thread waits for the signals by which users and batch systems end a program. The thread starts before the first
//! file is created, so that no temporary file is left behind.
//!
//! A signal that the parent made this program ignore, as `nohup` does, stays ignored. After the temporary files have
//! been removed, no other thread creates or renames a file. If a file exceeds the size limit, the write call fails, but
//! SIGXFSZ does not end the program.
//!
//! While a run has a checkpoint, the first signal only asks the run to stop: it saves its state after the current slice,
//! all ranks end, and then this process ends by the signal. A second signal ends the program at once.
//!
//! SIGKILL cannot be caught; the next run that writes the same file removes the leftovers. SIGPIPE and the signals that
//! report faults in the program, such as SIGSEGV, are not handled.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, Builder};
use std::time::Duration;

use einsum_dist::comm::ignored_signals::is_ignored;
use einsum_dist::comm::launcher::launcher;
use einsum_dist::io::output::remove_temporaries;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// How long ranks other than 0 wait before they end. Launchers kill the remaining ranks when the first rank ends, and
/// rank 0 has the most files to remove.
const AFTER_RANK_0: Duration = Duration::from_millis(100);

/// Signals that end a program by default. Batch systems send SIGXCPU, SIGUSR1 or SIGUSR2 some time before SIGKILL.
const ENDING: [c_int; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM];

/// The flag by which the first signal stops the run; `None` if signals end the program at once.
static STOP: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// The signal that has stopped the run; 0 if there was none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// While this value exists, the first signal raises a flag instead of ending the program.
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

/// Ends this process by the signal that has stopped the run, if there was one.
pub fn end_by_received() {
    let signal = RECEIVED.load(Ordering::Relaxed);
    if signal != 0 {
        // Does not return, because the default action of these signals ends the process.
        let _ = emulate_default_handler(signal);
    }
}

/// Raises the flag of a run that can be stopped. Returns false if there is none, or if it is raised already.
fn stops_run(signal: c_int) -> bool {
    let stop = STOP.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(flag) = stop.as_ref() else { return false };
    RECEIVED.store(signal, Ordering::Relaxed);
    !flag.swap(true, Ordering::Relaxed)
}

/// Starts the thread that waits for signals. If the thread cannot start, signals keep their default actions.
pub fn install() {
    // When SIGXFSZ is caught, the call that made the file too large fails. Ignoring the signal would have the same
    // effect, but programs that this one starts would inherit it.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let wanted = ENDING.into_iter().filter(|&signal| !is_ignored(signal)).collect::<Vec<_>>();
    let (ready, waits) = mpsc::channel();
    // The thread starts before signals are caught, because a signal that no thread waits for would be lost.
    let started = Builder::new().name("signals".to_owned()).spawn(move || {
        let signals = Signals::new(&wanted);
        // The receiver exists until this message arrives, so the call cannot fail.
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

/// Removes the temporary files and ends the process.
fn end_by(signal: c_int) {
    let removed = remove_temporaries();
    if launcher().is_some_and(|launcher| launcher.rank > 0) {
        thread::sleep(AFTER_RANK_0);
        removed.remove_again();
    }
    // Does not return, because the default action of these signals ends the process.
    let _ = emulate_default_handler(signal);
}
