//! Tests files and signals under mpirun. Regardless of which process receives a signal, there must be one message and
//! one exit code, and no files may remain.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Folder, executable, files, launcher, listening, output_of};
use crate::killed::{sliced, survives_kills};

/// The same command as in the tests with in-process ranks.
const RING: [&str; 9] =
    ["mk,kn->mn", "-sm=120,k=16,n=160", "-t1", "--algorithm", "ring-k", "--memory-limit", "16kB", "-oc.npy", "-q"];

/// Polls until the condition is true.
#[track_caller]
fn wait_until(mut condition: impl FnMut() -> bool, what: &str) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Process identifiers of the ranks that a launcher has started.
fn ranks(launcher: u32) -> Vec<i32> {
    let children = |pid: &str| {
        let listed = Command::new("pgrep").args(["-P", pid]).output().unwrap().stdout;
        String::from_utf8(listed).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut below = children(&launcher.to_string());
    below.extend(below.clone().iter().flat_map(|child| children(child)));
    // Rank 0 may have a child process that runs the same program and removes files after a crash.
    let program = |pid: &String| {
        let exe = std::fs::read_link(format!("/proc/{pid}/exe"));
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let runs = arguments.split(|&byte| byte == 0).any(|argument| argument.contains(&b'>'));
        runs && exe.is_ok_and(|exe| exe.ends_with("einsum-dist"))
    };
    below.iter().filter(|pid| program(pid)).map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn signals_to_mpirun_or_to_a_rank_leave_nothing() {
    let folder = Folder::new("mpi-signals");
    folder.write("c.npy", b"old");
    for (signal, rank) in [(Signal::INT, None), (Signal::TERM, None), (Signal::TERM, Some(0)), (Signal::INT, Some(2))] {
        let Some(mut command) = launcher(&folder) else { return };
        command.env("EINSUM_DIST_INJECT", "silence20@1:1").args(["-n", "3", executable()]).args(RING);
        let mut child = listening(&command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until(|| folder.files().len() > 1, "nothing is written");
        let to = match rank {
            None => Pid::from_child(&child),
            Some(rank) => Pid::from_raw(ranks(child.id())[rank]).unwrap(),
        };
        kill_process(to, signal).unwrap();
        // The exit code is not checked, because it is that of the launcher, and MPICH's launcher returns 0 after
        // SIGINT.
        child.wait().unwrap();
        // A launcher may exit before its last rank exits.
        wait_until(|| folder.files() == ["c.npy"], &format!("{signal:?} to {rank:?} leaves {:?}", folder.files()));
        assert_eq!(std::fs::read(folder.path().join("c.npy")).unwrap(), b"old");
    }
}

#[test]
fn paths_are_refused_once() {
    let folder = Folder::new("mpi-paths");
    files(&folder);
    let before = folder.files();
    for (arguments, says) in [
        (&["-o", "a.npy"][..], "--output a.npy and operand 0 a.npy are the same file"),
        (&["-o", "t", "--trace", "./t"], "--output t and --trace ./t are the same file"),
        (&["-o", "-"], "--output -: a result needs a file"),
        (&["--timeline", "/dev/null"], "/dev/null: is not a regular file"),
    ] {
        let Some(mut command) = launcher(&folder) else { return };
        let ended =
            output_of(command.args(["-n", "2", executable(), "mk,kn->mn", "a.npy", "b.npy", "-t1"]).args(arguments));
        ended.refused(says);
    }
    assert_eq!(folder.files(), before);
}

/// When a rank is killed, the launcher ends the others.
#[test]
fn a_killed_run_continues_with_the_same_bits() {
    let folder = Folder::new("killed-mpi-checkpoints");
    if launcher(&folder).is_none() {
        return;
    }
    let mut arguments = sliced(&folder, 3);
    arguments.retain(|argument| argument != "-n3");
    let start = |flags: &[&str]| {
        let mut command = launcher(&folder).unwrap();
        command.args(["-n", "3", executable()]).args(&arguments).args(flags);
        command
    };
    let kill = |child: &Child| {
        for rank in ranks(child.id()) {
            // The rank may have ended already.
            let _ = kill_process(Pid::from_raw(rank).unwrap(), Signal::KILL);
        }
    };
    survives_kills(&folder, &start, &kill);
}
