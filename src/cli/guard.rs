//! A process that outlives rank 0 where the launcher may kill it without a signal that it could wait for.
//!
//! When MPICH's launcher ends by SIGHUP, as at the end of a session, or loses a rank, it kills the others by SIGKILL at once. So
//! rank 0 starts this program once more, in a process group that the launcher does not know. That one reads until its
//! standard input ends, which is when rank 0 has ended, however that was, and removes the temporary files that are left.
//! Invariant: what it removes no process has locked. Deliberately absent: launchers that give ranks time after a first
//! signal, and schedulers that kill all processes of a job, after which the next run removes what is left.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use einsum_dist::World;
use einsum_dist::io::output::remove_leftovers;

/// Says that this process is such a one; its arguments are the outputs.
const VARIABLE: &str = "EINSUM_DIST_GUARD";

/// Variable that MPICH's launcher sets.
const HYDRA: &str = "HYDI_CONTROL_FD";

/// A rank that is being killed closes one file after the other: its locks may come after its pipe.
const TRIES: usize = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// Carries out what a guard is there for, if this process is one.
pub fn guards() -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let mut ignored = Vec::new();
    // However it ends, rank 0 has ended.
    let _ = std::io::stdin().lock().read_to_end(&mut ignored);
    let outputs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for _ in 0..TRIES {
        let alive = outputs.iter().flat_map(|path| remove_leftovers(path)).any(|leftover| leftover.alive);
        if !alive {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Starts a guard of these outputs on rank 0, where it is of use. Without one, the next run removes what is left.
pub fn start<'a>(world: &World, outputs: impl Iterator<Item = &'a Path>) {
    let outputs: Vec<&Path> = outputs.collect();
    if !world.is_root() || outputs.is_empty() || std::env::var_os(HYDRA).is_none() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(outputs).env(VARIABLE, "1").process_group(0);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(guard) = started {
        // The pipe is open until this process ends. Nobody waits for the guard.
        std::mem::forget(guard);
    }
}
