//! Starts a guard process, which removes rank 0's temporary files if the launcher kills it with SIGKILL.
//!
//! MPICH's launcher does so, without warning, when a rank dies or SIGHUP at the end of a login session kills the
//! launcher. So rank 0 starts this program again in a separate process group, as a guard, which waits for the end of
//! its standard input, a pipe from rank 0, and removes the temporary files that no process has locked.
//!
//! Other launchers first send a signal, which `signals` handles. If a scheduler kills all processes of a job, the next
//! run removes the leftovers.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use einsum_dist::World;
use einsum_dist::io::output::remove_leftovers;

/// Environment variable that marks a guard, whose arguments are the output paths.
const VARIABLE: &str = "EINSUM_DIST_GUARD";

const HYDRA: &str = "HYDI_CONTROL_FD";

/// Maximum attempts, because the system closes a killed rank's files, and releases its locks, one by one.
const MAX_ATTEMPTS: usize = 40;
const RETRY_INTERVAL: Duration = Duration::from_millis(25);

/// Returns whether this process is a guard, after rank 0 has ended and its leftovers are removed.
pub fn run_if_guard() -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let mut ignored = Vec::new();
    // This returns only when rank 0 has ended.
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

/// Starts a guard for these outputs on rank 0 under MPICH's launcher.
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
        // The pipe stays open until this process ends, without waiting for the guard.
        std::mem::forget(guard);
    }
}
