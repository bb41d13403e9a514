//! Signals that end the program: its temporary files are removed first, then it ends by the same signal, as its parent
//! expects.
//!
//! A thread waits for the signals that people and batch systems send to end a program, from before the first file is made.
//! Invariants: a signal that the parent has this program ignore, as `nohup` does, stays ignored; from the removal to the end
//! no other thread makes or renames a file; a file that is larger than allowed is an error of whoever writes it, not a
//! signal. Deliberately absent: SIGKILL, which cannot be waited for (the next run that writes the same file removes what it
//! left), signals of faults in the program, and SIGPIPE.

use std::ffi::c_int;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::thread::{self, Builder};
use std::time::Duration;

use einsum_dist::comm::inherited::is_ignored;
use einsum_dist::comm::launcher::launcher;
use einsum_dist::io::output::remove_temporaries;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Launchers kill all ranks when the first has ended, and rank 0 has most to remove: the others wait so long for it.
const AFTER_RANK_0: Duration = Duration::from_millis(100);

/// What ends a program unless it listens. Batch systems send SIGXCPU, SIGUSR1 and SIGUSR2 some time before they kill.
const ENDING: [c_int; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM];

/// Begins to wait. Where that is not possible, signals do what they do by default.
pub fn install() {
    // Where it is caught, the call that made the file too large fails. Ignored, it would be so for programs that this one
    // starts, too.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let wanted = ENDING.into_iter().filter(|&signal| !is_ignored(signal)).collect::<Vec<_>>();
    let (ready, waits) = mpsc::channel();
    // The thread first: a signal that is caught and that no thread waits for would be lost.
    let started = Builder::new().name("signals".to_owned()).spawn(move || {
        let signals = Signals::new(&wanted);
        // The receiver lives until it hears this.
        let _ = ready.send(());
        if let Some(signal) = signals.ok().and_then(|mut signals| signals.forever().next()) {
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
        removed.again();
    }
    // It does not return: the default of these signals is the end.
    let _ = emulate_default_handler(signal);
}
