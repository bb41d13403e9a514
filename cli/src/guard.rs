//! A guard process that outlives rank 0, for launchers that may kill it without a signal that could be caught.
//!
//! When MPICH's launcher ends by SIGHUP, as at the end of a session, or loses a rank, it kills the other ranks by
//! SIGKILL at once. So rank 0 starts this program once more, in a process group that the launcher does not know. This
//! guard reads until its standard input ends, which happens when rank 0 has ended, for whatever reason. Then it removes
//! the temporary files that are left. Invariant: it removes no file that a process has locked. Deliberately absent:
//! launchers that give ranks time after a first signal, and schedulers that kill all processes of a job, after which
//! the next run removes the leftovers.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use einsum_dist::World;
use einsum_dist::io::output::remove_leftovers;

/// Environment variable that marks a process as a guard; its arguments are the outputs.
const VARIABLE: &str = "EINSUM_DIST_GUARD";

/// Environment variable that MPICH's launcher sets.
const HYDRA: &str = "HYDI_CONTROL_FD";

/// Attempts to remove the files. A rank that is being killed closes its files one by one, so it may release its locks
/// after its pipe.
const MAX_ATTEMPTS: usize = 40;
const RETRY_INTERVAL: Duration = Duration::from_millis(25);

/// If this process is a guard, does its work; returns whether it is one.
pub fn guards() -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let mut ignored = Vec::new();
    // However the input ends, rank 0 has ended.
    let _ = std::io::stdin().lock().read_to_end(&mut ignored);
    let outputs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for _ in 0..MAX_ATTEMPTS {
        let alive = outputs.iter().flat_map(|path| remove_leftovers(path)).any(|leftover| leftover.alive);
        if !alive {
            break;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
    true
}

/// Starts a guard of these outputs on rank 0, if the launcher calls for one. Without a guard, the next run removes the
/// leftovers.
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
        // The pipe stays open until this process ends. This process does not wait for the guard.
        std::mem::forget(guard);
    }
}
