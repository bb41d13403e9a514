//! On signals that end the program, removes temporary files, then ends by the same signal for the parent's sake.
//!
//! A thread waits for these signals, from before the first file is created.
//!
//! Signals that the parent made this program ignore, as `nohup` does, stay ignored. After another, no other thread
//! creates or renames a file. Beyond the size limit of files, the write fails, and SIGXFSZ does not end the program.
//!
//! While a run has a checkpoint, the first signal only asks it to stop: it saves its state after the current slice, all
//! ranks end, and this process ends by the signal. A second signal ends the program at once.
//!
//! After SIGKILL, the next run that writes the same file removes the leftovers. SIGPIPE and SIGSEGV are not handled.

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

/// How long other ranks wait before they end, because launchers then kill rank 0, with the most files to remove.
const AFTER_RANK_0: Duration = Duration::from_millis(100);

/// Signals that end a program by default; batch systems send SIGXCPU, SIGUSR1 or SIGUSR2 before SIGKILL.
const ENDING: [c_int; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM];

/// The flag by which the first signal stops the run; `None` if signals end the program at once.
static STOP: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// The signal that has stopped the run, or 0.
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

/// Starts the thread that waits for signals; otherwise they keep their default actions.
pub fn install() {
    // The call that made the file too large then fails; programs that this one starts would inherit an ignored signal.
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
    // The default action ends the process.
    let _ = emulate_default_handler(signal);
}
