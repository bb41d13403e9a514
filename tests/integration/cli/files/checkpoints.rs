//! Tests `--checkpoint`: a killed run continues with the same bits, a signal saves the state, and files of other runs are
//! refused. `tests/checkpoints.py` kills more often; `plan::checkpoints` continues from every slice.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Folder, listening, output_of, program};
use crate::killed::{sliced, survives_kills};

#[test]
fn a_killed_run_continues_with_the_same_bits() {
    for ranks in [1, 3] {
        let folder = Folder::new("killed-checkpoints");
        let arguments = sliced(&folder, ranks);
        let start = |flags: &[&str]| {
            let mut command = program(&folder, flags);
            command.args(&arguments);
            command
        };
        // The run may have ended already.
        survives_kills(&folder, &start, &|child| _ = kill_process(Pid::from_child(child), Signal::KILL));
    }
}

#[test]
fn a_signal_saves_the_state_and_ends_the_run() {
    let folder = Folder::new("stopped-checkpoints");
    let arguments = sliced(&folder, 1);
    let mut command = program(&folder, &["--checkpoint=state"]);
    command.args(&arguments);
    let mut child = listening(&command).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let seconds = Instant::now();
    // The handler of signals is there before the run starts; a signal before the first slice ends the program at once.
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert!(status.signal() == Some(Signal::TERM.as_raw()) || status.code() == Some(0), "{status}");
    assert!(seconds.elapsed() < Duration::from_secs(20));
    let saved = folder.files().contains(&"state".to_owned());
    let ended = output_of(&mut command).succeeded();
    assert_eq!(ended.out.contains("slices are from the checkpoint"), saved, "{}", ended.out);
    assert_eq!(folder.files(), ["c.npy"]);
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused() {
    let folder = Folder::new("foreign-checkpoints");
    let small = |flags: &[&str]| {
        output_of(&mut program(
            &folder,
            &[&["[ab,bc->ac],cd->ad", "-s8", "-n1", "-t1", "--checkpoint=state"], flags].concat(),
        ))
    };
    let ended = small(&[]).succeeded();
    assert_eq!(ended.err, "warning: --checkpoint saves nothing, as this plan has a single slice\n");
    small(&["--repeat=2"]).refused("--checkpoint is for a single run");
    small(&["--warmup=1"]).refused("--checkpoint is for a single run");
    small(&["--checkpoint-every=never"]).refused("--checkpoint-every");
    output_of(&mut program(&folder, &["a->a", "--checkpoint-every=1"])).refused("--checkpoint");
    small(&["-ostate"]).refused("are the same file");
    assert!(folder.files().is_empty());
    folder.write("state", b"the user's file");
    small(&[]).refused("state: is not a file of a checkpoint; name another");
    let json = small(&["--json"]);
    assert_eq!((json.code, json.json()["error"]["kind"].as_str()), (Some(2), Some("checkpoint")));
    assert_eq!(std::fs::read(folder.path().join("state")).unwrap(), b"the user's file");
    std::fs::remove_file(folder.path().join("state")).unwrap();
    folder.write("state.rank0-1", b"the user's file");
    small(&[]).refused("state.rank0-1: is not a file of a checkpoint");
    assert_eq!(folder.files(), ["state.rank0-1"]);
}
