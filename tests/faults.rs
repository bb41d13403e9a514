//! Whatever goes wrong on one rank ends all of them within seconds, with an exit code that is not 0, a message that says where, and no
//! file that is half written.
//!
//! Ranks of one process and, where `EINSUM_DIST_MPIRUN` names a launcher and its options, processes of MPI by every transport.

mod command;

use std::process::Command;
use std::time::Duration;

use command::{Folder, PROGRAM, Ran, program, ran};

const SOON: Duration = Duration::from_secs(10);

const TRANSPORTS: [&str; 3] = ["shared", "message", "rma"];

fn launcher(folder: &Folder) -> Option<Command> {
    let launcher = std::env::var("EINSUM_DIST_MPIRUN").ok()?;
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next()?);
    command.args(words).current_dir(folder.path()).env("EINSUM_DIST_RATES", "default");
    Some(command)
}

/// Ends as a failed run does; nothing is left in the folder but `files`.
#[track_caller]
fn failed(ended: &Ran, folder: &Folder, files: &[&str]) {
    assert!(ended.code != Some(0), "{}\n{}", ended.out, ended.err);
    assert!(ended.took < SOON, "{:?}: {}", ended.took, ended.err);
    assert_eq!(folder.files(), files, "{}", ended.err);
}

#[track_caller]
fn says(ended: &Ran, who: &str, what: &str) {
    let found = ended.err.lines().any(|line| line.contains(who) && line.contains(what));
    assert!(found, "no line with `{who}` and `{what}`:\n{}", ended.err);
}

/// The ring sends, receives and computes on every rank.
const RING: [&str; 6] = ["mk,kn->mn", "-s64", "-t1", "--algorithm", "ring-k", "-oc.npy"];

#[test]
fn faults_of_a_rank_in_this_process() {
    let folder = Folder::new("faults");
    for (fault, who, what) in [
        ("worker@1", "error: rank 1, task 0 (mk,kn->mn)", "panicked: injected for a test"),
        ("communication@2", "error: rank 2, communication, task ", "panicked: injected for a test"),
        ("allocation@1", "error: cannot allocate", "bytes"),
    ] {
        let arguments = [&RING[..], &["-n3"]].concat();
        let ended = ran(program(&folder, &arguments).env("EINSUM_DIST_INJECT", fault));
        failed(&ended, &folder, &[]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
        says(&ended, who, what);
    }
}

#[test]
fn faults_of_a_process() {
    let folder = Folder::new("mpi-faults");
    for (fault, who, what) in [
        ("worker@1", "einsum-dist: rank 1 on ", ": task 0 (mk,kn->mn): panicked: injected"),
        ("communication@2", "einsum-dist: rank 2 on ", ": communication, task "),
        ("allocation@1", "error: rank 1", "cannot allocate"),
        ("silence@1", "einsum-dist: rank ", "no answer from rank 1 for 1 s"),
    ] {
        for transport in TRANSPORTS {
            let Some(mut command) = launcher(&folder) else { return };
            command.args(["-n", "3", PROGRAM]).args(RING).args(["--timeout", "1", "--transport", transport]);
            let ended = ran(command.env("EINSUM_DIST_INJECT", fault));
            failed(&ended, &folder, &[]);
            says(&ended, who, what);
        }
    }
}

/// Rank 1 gets a signal in the middle of a long run. Who is killed says nothing; its launcher does.
#[test]
fn a_process_that_is_killed_or_stopped_ends_all() {
    let folder = Folder::new("mpi-killed");
    for (signal, transport) in
        [("KILL", "shared"), ("KILL", "message"), ("KILL", "rma"), ("STOP", "shared"), ("STOP", "message")]
    {
        let Some(mut command) = launcher(&folder) else { return };
        let after = format!(
            "[ \"$PMI_RANK$OMPI_COMM_WORLD_RANK\" = 1 ] && (sleep 2; kill -{signal} $$) & exec \"$@\" >/dev/null"
        );
        let run = ["mk,kn->mn", "-s200", "-t1", "--algorithm", "ring-mn", "--repeat", "10000000", "-oc.npy"];
        command.args(["-n", "3", "sh", "-c", &after, "sh", PROGRAM]).args(run);
        let ended = ran(command.args(["--timeout", "1", "--transport", transport]));
        failed(&ended, &folder, &[]);
        if signal == "STOP" {
            says(&ended, "einsum-dist: rank ", "no answer from ");
        }
    }
}

/// A file system that is full: the message names the file, and the old result is still there.
#[test]
fn a_full_disk_leaves_no_part_of_a_file() {
    let folder = Folder::new("full");
    let mounted = |command: &str| {
        let script = format!(
            "mkdir small && mount -t tmpfs -o size=96k none small && echo old > small/c.npy && {command}; \
            code=$?; ls -A small >&2; cat small/c.npy >&2; exit $code"
        );
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", &script, "sh"]).current_dir(folder.path()).env("EINSUM_DIST_RATES", "default");
        shell
    };
    if ran(&mut mounted("true")).code != Some(0) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    std::fs::remove_dir(folder.path().join("small")).unwrap();
    let launchers = [
        Some("\"$@\" -n3".to_owned()),
        std::env::var("EINSUM_DIST_MPIRUN").ok().map(|run| format!("{run} -n 3 \"$@\"")),
    ];
    for launcher in launchers.into_iter().flatten() {
        let ended = ran(mounted(&launcher).args([PROGRAM, "mk,kn->mn", "-s300", "-t1", "-osmall/c.npy"]));
        std::fs::remove_dir(folder.path().join("small")).unwrap();
        failed(&ended, &folder, &[]);
        says(&ended, "small/.c.npy", "o space left");
        assert!(ended.err.ends_with("c.npy\nold\n"), "{}", ended.err);
    }
}

/// Where processes can share little more than MPI itself takes they say so, or send messages; nobody hangs or is killed by a signal.
#[test]
fn little_memory_to_share_is_an_error_of_all_or_none() {
    let folder = Folder::new("little");
    let Some(run) = std::env::var("EINSUM_DIST_MPIRUN").ok() else { return };
    let mounted = |command: &str| {
        let script = format!("mount -t tmpfs -o size=32m none /dev/shm && {command}");
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", &script, "sh"]).current_dir(folder.path()).env("EINSUM_DIST_RATES", "default");
        shell
    };
    if ran(&mut mounted("true")).code != Some(0) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    for (transport, code) in [("auto", 0), ("message", 0), ("shared", 1), ("rma", 1)] {
        let mut command = mounted(&format!("{run} -n 4 \"$@\""));
        command.arg(PROGRAM).args(["mk,kn->mn", "-s64", "-t1", "--timeout", "5", "--transport", transport]);
        let ended = ran(&mut command);
        assert_eq!(ended.code.map(|code| code.min(1)), Some(code), "{transport}: {}", ended.err);
        assert!(ended.took < SOON, "{transport}: {:?}", ended.took);
        if code != 0 {
            says(&ended, "no memory can be shared between processes", "4 ranks need ");
        }
    }
}
