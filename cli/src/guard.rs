//! Starts a guard process, which outlives rank 0 and removes rank 0's temporary files. A guard is needed if the
//! launcher may kill rank 0 with SIGKILL.
//!
//! MPICH's launcher kills its ranks with SIGKILL, without warning, when a rank dies or the launcher itself is killed by
//! SIGHUP at the end of a login session. So rank 0 starts this program again as a guard, in a separate process group,
//! which the launcher does not kill. The guard reads its standard input, a pipe from rank 0, to the end. The pipe ends
//! when rank 0 has exited for any reason. Then the guard removes the remaining temporary files, except those that a
//! process has locked.
//!
//! Other launchers first send a signal that a rank can catch, and leave it time to exit. No guard is started for them,
//! because `signals` then removes the files. A guard would not help against schedulers that kill all processes of a
//! job. After such a kill, the next run removes the leftovers.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use einsum_dist::World;
use einsum_dist::io::output::remove_leftovers;

/// Environment variable that marks a process as a guard. The arguments of a guard are the paths of the outputs.
const VARIABLE: &str = "EINSUM_DIST_GUARD";

/// Environment variable that MPICH's launcher sets.
const HYDRA: &str = "HYDI_CONTROL_FD";

/// Maximum number of attempts to remove the files. The system closes the files of a killed rank one by one, so the
/// rank's locks may still be held when the guard's standard input ends.
const MAX_ATTEMPTS: usize = 40;
const RETRY_INTERVAL: Duration = Duration::from_millis(25);

/// Returns whether this process is a guard. In a guard, returns only after rank 0 has ended and its leftovers have been
/// removed.
pub fn run_if_guard() -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let mut ignored = Vec::new();
    // Reading returns, successfully or with an error, only when rank 0 has ended.
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

/// Starts a guard for these outputs on rank 0 if the launcher is MPICH's. Without a guard, the next run removes the
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
