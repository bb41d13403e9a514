//! Tests that a fault on one rank ends all ranks within seconds, with a nonzero exit code and a message that names the
//! place of the fault. No incomplete file may remain.
//!
//! Ranks are threads of one process. If `EINSUM_DIST_MPIRUN` names a launcher and its options, the tests also run on
//! MPI processes, with every transport.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::command::{Folder, RunOutput, alone, executable, launcher, output_of, program};

const SOON: Duration = Duration::from_secs(10);

const TRANSPORTS: [&str; 3] = ["shared", "message", "rma"];

/// Requires that the run failed, and that the folder contains only `files`.
#[track_caller]
fn failed(ended: &RunOutput, folder: &Folder, files: &[&str]) {
    assert!(ended.code != Some(0), "{}\n{}", ended.out, ended.err);
    assert!(ended.took < SOON, "{:?}: {}", ended.took, ended.err);
    assert_eq!(folder.files(), files, "{}", ended.err);
}

#[track_caller]
fn says(ended: &RunOutput, who: &str, what: &str) {
    let found = ended.err.lines().any(|line| line.contains(who) && line.contains(what));
    assert!(found, "no line with `{who}` and `{what}`:\n{}", ended.err);
}

/// Returns whether a temporary output file existed at any time during a run, and the run's output.
fn watched(command: &mut Command, folder: &Folder) -> (bool, RunOutput) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = false;
            while !seen && !over.load(Ordering::Relaxed) {
                seen = folder.files().iter().any(|name| name.ends_with(".partial"));
                std::thread::sleep(Duration::from_millis(5));
            }
            seen
        });
        let ended = output_of(command);
        over.store(true, Ordering::Relaxed);
        (watcher.join().unwrap(), ended)
    })
}

/// A ring, in which every rank sends, receives and computes. The result is written in five parts, and the first part is
/// in the file when the second one starts.
const RING: [&str; 8] =
    ["mk,kn->mn", "-sm=120,k=16,n=160", "-t1", "--algorithm", "ring-k", "--memory-limit", "16kB", "-oc.npy"];

/// The result is written in three parts, and no rank sends anything.
const BATCH: [&str; 8] =
    ["cmk,ckn->cmn", "-sc=3,m=120,k=16,n=160", "-t1", "--algorithm", "c", "--memory-limit", "50kB", "-oc.npy"];

#[test]
fn faults_of_a_rank_in_this_process() {
    let folder = Folder::new("faults");
    for (fault, who, place, what) in [
        ("worker@1:1", "error: rank 1 on ", ", task 0 (mk,kn->mn): ", "panicked: injected for a test"),
        ("communication@2:2", "error: rank 2 on ", ", communication, task ", "panicked: injected for a test"),
        ("allocation@1", "error: rank 1 on ", ": cannot allocate ", "bytes"),
        // The error is reported only when the silent thread resumes.
        ("silence4@1:1", "error: rank ", ", communication, task ", "no answer from rank 1 for 1 s"),
    ] {
        let arguments = [&RING[..], &["-n3", "--timeout", "1"]].concat();
        let ended = output_of(program(&folder, &arguments).env("EINSUM_DIST_INJECT", fault));
        failed(&ended, &folder, &[]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
        says(&ended, who, place);
        says(&ended, who, what);
    }
}

#[test]
fn faults_of_a_process() {
    let folder = Folder::new("mpi-faults");
    for (fault, who, what) in [
        ("worker@1:1", "einsum-dist: rank 1 on ", ": task 0 (mk,kn->mn): panicked: injected"),
        ("communication@2:2", "einsum-dist: rank 2 on ", ": communication, task "),
        ("allocation@1", "error: rank 1 on ", ": cannot allocate "),
        ("silence@1:1", "einsum-dist: rank ", "no answer from rank 1 for 1 s"),
    ] {
        for transport in TRANSPORTS {
            let Some(mut command) = launcher(&folder) else { return };
            command.args(["-n", "3", executable()]).args(RING).args(["--timeout", "1", "--transport", transport]);
            let (partial, ended) = watched(command.env("EINSUM_DIST_INJECT", fault), &folder);
            failed(&ended, &folder, &[]);
            says(&ended, who, what);
            assert!(partial || !fault.starts_with("silence"), "nothing was written before:\n{}", ended.err);
        }
    }
}

/// Rank 1 is silent between two runs, while the other ranks wait for it to agree whether writing succeeded.
#[test]
fn a_process_that_is_silent_while_the_others_write_ends_all() {
    let folder = Folder::new("mpi-silent");
    for transport in TRANSPORTS {
        let Some(mut command) = launcher(&folder) else { return };
        command.args(["-n", "3", executable()]).args(BATCH).args(["--timeout", "1", "--transport", transport]);
        let (partial, ended) = watched(command.env("EINSUM_DIST_INJECT", "silence@1:1"), &folder);
        failed(&ended, &folder, &[]);
        says(&ended, "einsum-dist: rank ", "no answer from other ranks for 1 s, in MPI_I");
        assert!(partial, "nothing was written before:\n{}", ended.err);
    }
}

/// Rank 1 receives a signal during a long run. A killed process prints nothing. The launcher must stop the other
/// processes, and print which process was killed and by which signal.
#[test]
fn a_process_that_is_killed_or_stopped_ends_all() {
    let folder = Folder::new("mpi-killed");
    let each = ["KILL", "STOP"].into_iter().flat_map(|signal| TRANSPORTS.map(|transport| (signal, transport)));
    for (signal, transport) in each {
        let Some(mut command) = launcher(&folder) else { return };
        // A rank starts its workers after initialising MPI, so its worker threads show that MPI runs.
        let after = format!(
            "[ \"$PMI_RANK$OMPI_COMM_WORLD_RANK\" = 1 ] && (\
             until grep -qs ' worker ' /proc/$$/task/*/comm; do sleep 0.1; done; sleep 2; kill -{signal} $$\
             ) & exec \"$@\" >/dev/null"
        );
        let run = ["mk,kn->mn", "-s200", "-t1", "--algorithm", "ring-mn", "--repeat", "10000000", "-oc.npy"];
        command.args(["-n", "3", "sh", "-c", &after, "sh", executable()]).args(run);
        let ended = output_of(command.args(["--timeout", "1", "--transport", transport]));
        failed(&ended, &folder, &[]);
        assert!(ended.took > Duration::from_secs(2), "over before the signal: {}", ended.err);
        if signal == "STOP" {
            says(&ended, "einsum-dist: rank ", "no answer from ");
        } else {
            let printed = format!("{}{}", ended.out, ended.err).to_lowercase();
            // MPICH reads the memory of other processes. If that fails, because rank 1 was killed meanwhile, MPICH aborts
            // this process, and the launcher may report it instead of rank 1.
            let reported =
                ["signal 9", "exit code: 9", "returned -1: no such process"].iter().any(|text| printed.contains(text));
            assert!(reported, "{}\n{}", ended.out, ended.err);
        }
    }
}

/// On a full file system, the message must name the file, and the old result must still exist.
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
        alone(&mut shell, &folder);
        shell
    };
    if output_of(&mut mounted("true")).code != Some(0) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    std::fs::remove_dir(folder.path().join("small")).unwrap();
    let launchers = [
        Some("\"$@\" -n3".to_owned()),
        std::env::var("EINSUM_DIST_MPIRUN").ok().map(|run| format!("{run} -n 3 \"$@\"")),
    ];
    for launcher in launchers.into_iter().flatten() {
        let ended = output_of(mounted(&launcher).args([executable(), "mk,kn->mn", "-s300", "-t1", "-osmall/c.npy"]));
        std::fs::remove_dir(folder.path().join("small")).unwrap();
        failed(&ended, &folder, &[]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
        says(&ended, "error: rank ", " on ");
        says(&ended, "small/.c.npy", "o space left");
        assert!(ended.err.ends_with("c.npy\nold\n"), "{}", ended.err);
    }
}

/// If a trace cannot be written, the result is kept. The program prints the result and then the error.
#[test]
fn a_trace_that_cannot_be_written_leaves_the_result() {
    let folder = Folder::new("no-trace");
    for (flag, file) in [("--trace", "t.json"), ("--timeline", "t.svg")] {
        for (how, json) in [("--json", true), ("-v", false), ("--simulate", false)] {
            // The shell limits the size of files to 0 bytes.
            let mut limited = Command::new("sh");
            limited.args([
                "-c",
                "trap '' XFSZ; ulimit -f 0; exec \"$@\"",
                "sh",
                executable(),
                "mk,kn->mn",
                "-s8",
                "-n2",
                "-t1",
            ]);
            limited.current_dir(folder.path()).env("EINSUM_DIST_RATES", "default");
            let ended = output_of(limited.args([flag, file, how]));
            failed(&ended, &folder, &[]);
            assert_eq!(ended.code, Some(1), "{}", ended.err);
            assert!(ended.err.ends_with(&format!("error: {file}: cannot write: File too large\n")), "{}", ended.err);
            if json {
                assert!(ended.json()["output"]["norm"].as_f64() > Some(0.0), "{}", ended.out);
            } else {
                assert!(ended.out.contains("mk,kn->mn"), "{}", ended.out);
            }
        }
    }
}

/// If processes can share little more memory than MPI itself needs, they must report an error or transfer by messages.
/// No process may hang or be killed by a signal.
#[test]
fn little_memory_to_share_is_an_error_of_all_or_none() {
    let folder = Folder::new("little");
    let Some(run) = std::env::var("EINSUM_DIST_MPIRUN").ok() else { return };
    let mounted = |command: &str| {
        let script = format!("mount -t tmpfs -o size=32m none /dev/shm && {command}");
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", &script, "sh"]).current_dir(folder.path()).env("EINSUM_DIST_RATES", "default");
        alone(&mut shell, &folder);
        shell
    };
    if output_of(&mut mounted("true")).code != Some(0) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    for (transport, code) in [("auto", 0), ("message", 0), ("shared", 1), ("rma", 1)] {
        let mut command = mounted(&format!("{run} -n 4 \"$@\""));
        command.arg(executable()).args(["mk,kn->mn", "-s64", "-t1", "--timeout", "5", "--transport", transport]);
        let ended = output_of(&mut command);
        assert_eq!(ended.code.map(|code| code.min(1)), Some(code), "{transport}: {}", ended.err);
        assert!(ended.took < SOON, "{transport}: {:?}", ended.took);
        if code != 0 {
            says(&ended, "no memory can be shared between processes", "4 ranks need ");
        }
    }
}
