//! Tests that runs with too little memory end with one message that gives the number of missing bytes, never with a
//! signal, a panic or a hang. Also tests that `--check` needs little time and memory.

use std::process::Command;
use std::time::Duration;

use crate::command::{
    Folder, OUT_OF_CORE, PRODUCT, RunOutput, TOO_LITTLE, executable, large_operand, out_of_core, output_of, product,
    program,
};
use crate::networks::{lattice, network};

/// Runs the program with a limit on its address space, in units of 1024 bytes.
fn limited(folder: &Folder, kilobytes: u64, arguments: &[&str]) -> RunOutput {
    let mut shell = Command::new("timeout");
    shell.args(["60", "sh", "-c", &format!("ulimit -v {kilobytes}; exec \"$@\""), "sh", executable()]).args(arguments);
    // Sets the same environment variables as `program` does, although a shell starts the program here.
    for (name, value) in program(folder, &[]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    output_of(shell.current_dir(folder.path()))
}

/// Requires that the run succeeded, or ended with one message about bytes or threads.
#[track_caller]
fn check_ended_cleanly(ended: &RunOutput, what: &str) {
    let errors = ended.err.lines().filter(|line| line.starts_with("error")).count();
    match ended.code {
        Some(0) => assert_eq!(errors, 0, "{what}: {}", ended.err),
        Some(1 | 2) => {
            assert_eq!(errors, 1, "{what}: {}", ended.err);
            assert!(ended.err.contains(" bytes") || ended.err.contains(" threads"), "{what}: {}", ended.err);
            assert!(!ended.err.contains("panicked") && ended.err.lines().count() == 1, "{what}: {}", ended.err);
        }
        // The dynamic loader exits with this code if it cannot map the shared libraries.
        Some(127) => assert!(ended.err.contains("shared object"), "{what}: {}", ended.err),
        code => panic!("{what}: ended by a signal or not at all ({code:?}): {}", ended.err),
    }
}

/// The runs cover products, dot products, trees, several ranks, checks, and files as operands and result.
const RUNS: &[&[&str]] = &[
    &["mk,kn->mn", "-s", "20000"],
    &["mk,kn->mn", "-s", "2000", "-n", "3"],
    &["i,i->", "-s", "100000000", "--check"],
    &["i,i->", "-s", "20000000"],
    &["[ij,jk->ik],kl->il", "-s", "1500", "-n", "2"],
    &["bqhd,bkhd->bhqk", "-s", "64,h=8"],
    &["mk,kn->nm", "-s", "1200", "-o", "out.npy"],
    &["mk,kn->mn", "left.npy", "right.npy", "--check"],
    &["ab,bc,cd->ad", "-s", "400", "--check", "-n", "2"],
    &["i,j->ij", "-s", "6000", "--dtype", "c128"],
];

fn sweep(limits: impl Iterator<Item = u64> + Clone) {
    let folder = Folder::new("limits");
    product(&folder);
    for arguments in RUNS {
        for limit in limits.clone() {
            let arguments = [*arguments, &["-t1"]].concat();
            let ended = limited(&folder, limit, &arguments);
            check_ended_cleanly(&ended, &format!("ulimit -v {limit}, {arguments:?}"));
            let left = folder.files().into_iter().filter(|name| name.ends_with(".partial"));
            assert_eq!(left.count(), 0, "ulimit -v {limit}, {arguments:?}");
        }
    }
}

#[test]
fn little_memory_is_one_message() {
    // The lower limit is barely enough to start the program, and the higher limit is enough for some runs.
    sweep([90_000, 400_000].into_iter());
}

/// Tests many limits, from too little memory to start the program up to enough memory for all but the largest runs.
#[test]
#[ignore = "takes minutes"]
fn any_memory_is_one_message_or_enough() {
    sweep((15..60).map(|step| (10_000.0 * 1.1f64.powi(step)) as u64));
}

#[test]
fn what_is_missing_is_known_before_the_run() {
    let folder = Folder::new("missing");
    let ended = limited(&folder, 1_000_000, &["mk,kn->mn", "-s", "20000", "-t1", "--json"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let says = ["rank 0", " needs 48", " bytes, ", " more than the ", "ulimit -v"];
    assert!(says.iter().all(|says| ended.err.contains(says)), "{}", ended.err);
    assert_eq!(ended.json()["error"]["kind"], "memory");
}

/// Without slices, this lattice needs about 200 MB. The program itself needs about 60 MB, or 100 MB with three ranks.
const LATTICE: [&str; 6] = ["@lattice.txt", "-s15", "-t1", "--dtype=f64", "--path=anneal", "--json"];

#[test]
fn networks_that_need_too_much_run_in_slices() {
    let folder = Folder::new("chosen-limit");
    folder.write("lattice.txt", network(25, &lattice(&[5, 5])).as_bytes());
    let run = |kilobytes, flags: &[&str]| limited(&folder, kilobytes, &[&LATTICE[..], flags].concat());
    let norm = |report: &serde_json::Value| report["output"]["norm"].as_f64().unwrap();
    for ranks in ["-n1", "-n3"] {
        let whole = run(4_000_000, &[ranks]).succeeded().json();
        assert!(whole["slices"] == 1 && whole["memory_limit"].is_null(), "{whole}");
        let (mut same, mut sliced) = (0, 0);
        for kilobytes in [600_000, 220_000] {
            let report = run(kilobytes, &[ranks]).succeeded().json();
            let what = format!("{kilobytes} kB, {ranks}: {report}");
            assert!((norm(&report) / norm(&whole) - 1.0).abs() < 1e-9, "{what}");
            let explained = run(kilobytes, &[ranks, "--explain"]).succeeded().json();
            assert_eq!(explained["plan_fingerprint"], report["plan_fingerprint"], "{what}");
            if let Some(limit) = report["memory_limit"].as_u64() {
                assert!(report["slices"].as_u64() > Some(1), "{what}");
                assert!(report["peak_bytes"]["planned"].as_u64() <= Some(limit), "{what}");
                sliced += 1;
            } else {
                assert_eq!(report["plan_fingerprint"], whole["plan_fingerprint"], "{what}");
                same += 1;
            }
        }
        assert!(same > 0 && sliced > 0, "{ranks}: {same} {sliced}");
    }
    // Whoever sets a limit is told what it lacks.
    let ended = run(220_000, &["--memory-limit=1GB"]);
    assert!(ended.code == Some(2) && ended.err.contains("ulimit -v"), "{}", ended.err);
}

#[test]
fn threads_that_cannot_be_had_are_an_error() {
    let folder = Folder::new("threads");
    for arguments in [["-n", "1", "-t", "200"], ["-n", "4", "-t", "60"]] {
        let ended = limited(&folder, 300_000, &[&["mk,kn->mn", "-s", "64"][..], &arguments].concat());
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("threads"), "{arguments:?}: {}", ended.err);
        check_ended_cleanly(&ended, &format!("{arguments:?}"));
    }
}

#[test]
fn a_check_takes_no_more_than_the_limit_leaves() {
    let folder = Folder::new("check-limit");
    product(&folder);
    for limit in [TOO_LITTLE, "60kB", "1MB"] {
        let ended =
            output_of(&mut program(&folder, &[&PRODUCT[..], &["--check", "--json", "--memory-limit", limit]].concat()));
        let report = ended.succeeded().json();
        assert_eq!((&report["check"]["ok"], &report["check"]["checked"]), (&true.into(), &19_200.into()), "{limit}");
        let peak = &report["peak_bytes"];
        assert_eq!(peak["planned"], peak["measured"], "{limit}");
    }
    // One product and its check need more.
    let ended = output_of(&mut program(&folder, &[&PRODUCT[..], &["--check", "--memory-limit", "50"]].concat()));
    ended.refused(" bytes, ");
}

#[test]
fn checks_of_networks_take_no_time() {
    let folder = Folder::new("check-time");
    for (expression, sizes) in [
        ("abc,cdeb,efg,gahi,ijkd,klm,mnfj,nlh->hc", "9,b=8,d=8,g=10"),
        ("abcd,cef,efgb,ghi,hjdka,ikl,jlm,mn->n", "8,a=10"),
        ("[ab,bc->ac],[cd,de->ce]->ae", "400"),
        ("ab,bc,cd,de,ef->", "120"),
    ] {
        let ended =
            output_of(&mut program(&folder, &[expression, "-s", sizes, "--check", "--json", "-t1"])).succeeded();
        assert_eq!(ended.json()["check"]["ok"], true, "{expression}");
        assert!(ended.took < Duration::from_secs(30), "{expression}: {:?}", ended.took);
    }
}

#[test]
fn operands_that_do_not_fit_are_read_in_parts() {
    let folder = Folder::new("out-of-core");
    large_operand(&folder);
    let run = |arguments: &[&str]| output_of(&mut program(&folder, arguments)).succeeded();
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    run(&[&OUT_OF_CORE[..4], &["-o", "whole.npy"]].concat());
    run(&[&OUT_OF_CORE[..4], &["--accumulate", "whole.npy", "-o", "twice.npy"]].concat());
    for ranks in ["1", "2", "3"] {
        let limited = [&OUT_OF_CORE[..], &["-n", ranks, "--check", "--json", "-o", "parts.npy"]].concat();
        for (flags, wanted) in [
            (&["--warmup=1", "--repeat=2"][..], "whole.npy"),
            (&["--accumulate=whole.npy"], "twice.npy"),
            (&["--checkpoint=state"], "whole.npy"),
        ] {
            out_of_core(&run(&[&limited[..], flags].concat()).json());
            assert!(bytes("parts.npy") == bytes(wanted), "{ranks} ranks, {flags:?}");
        }
    }
    let text = run(&[&OUT_OF_CORE[..], &["--explain"]].concat()).out;
    assert!(text.contains("\noperand   0 read in ") && text.contains("\nverified: "), "{text}");
    let text = run(&OUT_OF_CORE).out;
    assert!(text.contains("\nreading     ") && text.contains(" of the last run, for parts of operand 0\n"), "{text}");
    // Random operands are generated part by part.
    let random = [OUT_OF_CORE[0], "-sa=512,b=1024,c=8", "-t1", "--json", "--check"];
    let report = run(&[&random[..], &OUT_OF_CORE[4..]].concat()).json();
    out_of_core(&report);
    let norms = [&report, &run(&random).json()].map(|report| report["output"]["norm"].as_f64().unwrap());
    assert!((norms[0] / norms[1] - 1.0).abs() < 1e-6, "{norms:?}");
}
