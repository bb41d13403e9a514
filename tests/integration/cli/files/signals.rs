//! Tests that a signal during a run ends the program, and that the program leaves no files. `tests/signals.py` sends
//! signals at random moments.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Folder, executable, listening, program};

/// A run whose result is written in several parts. When the second part starts, the first part is already in the file.
const RING: [&str; 10] = [
    "mk,kn->mn",
    "-sm=120,k=16,n=160",
    "-t1",
    "--algorithm",
    "ring-k",
    "--memory-limit",
    "16kB",
    "-oc.npy",
    "-n3",
    "-q",
];

const SIGNALS: [Signal; 8] =
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::XCPU, Signal::USR1, Signal::USR2, Signal::ALARM];

/// Starts a run and waits until it writes its result.
fn writing(command: &mut Command, folder: &Folder) -> Child {
    let child = listening(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !folder.files().iter().any(|name| name.ends_with(".partial")) {
        assert!(started.elapsed() < Duration::from_secs(20), "nothing is written");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_run_that_a_signal_ends_leaves_the_old_file() {
    let folder = Folder::new("signals");
    folder.write("c.npy", b"old");
    for signal in SIGNALS {
        let mut child = writing(program(&folder, &RING).env("EINSUM_DIST_INJECT", "silence20@1:1"), &folder);
        send(&child, signal);
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (None, Some(signal.as_raw())));
        assert_eq!(folder.files(), ["c.npy"]);
        assert_eq!(std::fs::read(folder.path().join("c.npy")).unwrap(), b"old");
    }
}

#[test]
fn signals_that_the_parent_ignores_stay_ignored() {
    let folder = Folder::new("nohup");
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP INT; exec \"$@\"", "sh", executable()]).args(RING).current_dir(folder.path());
    ignoring.env("EINSUM_DIST_RATES", "default").env("EINSUM_DIST_INJECT", "silence20@1:1");
    let mut child = writing(&mut ignoring, &folder);
    send(&child, Signal::HUP);
    send(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(child.try_wait().unwrap(), None);
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert_eq!(folder.files(), [""; 0]);
}

/// If a file exceeds the size limit, the operating system sends SIGXFSZ. By default, this signal would end the program
/// and leave its temporary files.
#[test]
fn a_file_that_is_larger_than_allowed_is_an_error() {
    let folder = Folder::new("file-size");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 1; exec \"$@\"", "sh", executable(), "mk,kn->mn", "-s64", "-t1", "-n1", "-oc.npy"]);
    limited.current_dir(folder.path()).env("EINSUM_DIST_RATES", "default");
    let ended = crate::command::output_of(&mut limited);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(ended.err.starts_with("error: ") && ended.err.ends_with(": File too large\n"), "{}", ended.err);
    assert!(ended.err.lines().count() == 1 && folder.files().is_empty(), "{}", ended.err);
}

/// A run that is killed by SIGKILL leaves a temporary file, which the next run removes.
#[test]
fn a_killed_run_is_cleaned_up_by_the_next() {
    let folder = Folder::new("killed");
    let mut child = writing(program(&folder, &RING).env("EINSUM_DIST_INJECT", "silence20@1:1"), &folder);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    assert_eq!(folder.files().len(), 1);
    let next = crate::command::output_of(&mut program(&folder, &RING)).succeeded();
    assert_eq!((next.err.as_str(), folder.files()), ("", vec!["c.npy".to_owned()]));
}
