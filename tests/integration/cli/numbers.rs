//! Tests that unreasonable numbers in any flag or file end the program immediately with one message.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::command::{Folder, RunOutput, output_of, program};

/// Length of an extremely long value.
const LONG: usize = 100_000;

/// Runs the product of two matrices with additional arguments.
fn run(folder: &Folder, arguments: &[&OsStr]) -> RunOutput {
    output_of(program(folder, &["mk,kn->mn", "-s8"]).args(arguments))
}

/// Requires that the program ended quickly, with a single message of a few lines that contains all texts in `says`.
#[track_caller]
fn refused(ended: &RunOutput, case: &str, says: &[&str]) {
    assert_eq!(ended.code, Some(2), "{case}: {} {}", ended.out, ended.err);
    assert_eq!(ended.err.matches("error: ").count(), 1, "{case}: {}", ended.err);
    assert!(ended.err.len() < 5000 && ended.err.starts_with("error: "), "{case}: {} bytes", ended.err.len());
    assert!(ended.took < Duration::from_secs(10), "{case}: {:?}", ended.took);
    for says in says {
        assert!(ended.err.contains(says), "{case}: {} without `{says}`", ended.err);
    }
}

/// All flags in the help text that require a value, with the names of their values.
fn flags(folder: &Folder) -> Vec<(String, String)> {
    let help = output_of(&mut program(folder, &["--help"])).succeeded().out;
    let long = |line: &str| {
        let (flag, rest) = line[line.find("--")?..].split_once(" <")?;
        Some((flag.to_owned(), rest.split_once('>')?.0.to_owned()))
    };
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.filter_map(long).collect()
}

/// Calls `work` for every case, on four threads.
fn each<T: Sync>(cases: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(case);
                }
            });
        }
    });
}

/// Invalid values for a flag, which depend on the name of its value.
fn bad_values(flag: &str, value_name: &str) -> Vec<OsString> {
    let long = "9".repeat(LONG);
    let number = ["", "-5", "1e400", "nan", "inf", "18446744073709551616", "\u{ff13}", long.as_str()];
    let other: Vec<&str> = match (flag, value_name) {
        ("--seed", _) => number.to_vec(),
        ("--warmup", _) => [&number[..], &["9223372036854775808"]].concat(),
        (_, "N" | "SECONDS") => [&number[..], &["0", "9223372036854775808"]].concat(),
        ("--size", _) => [&number[..], &["m=-1", "m=1e3"]].concat(),
        ("--memory-limit", _) => [&number[..], &["0", "-1GB", "1e400GB", "nanGB"]].concat(),
        ("--transport", _) => {
            vec![
                "",
                "-5",
                "throttled:-1",
                "throttled:nan",
                "throttled:0",
                "throttled:1e400",
                "throttled:",
                long.as_str(),
            ]
        }
        ("--distribution", _) => vec![
            "-5",
            "m:-1",
            "m:0",
            "m:nan",
            "m:18446744073709551616",
            "m:6148914691236517206 k:3;*;*",
            "m:4294967296 k:4294967296;*;*",
            "m:9223372036854775808",
            "m:cyclic(18446744073709551615,2) k:9223372036854775808",
            "m:cyclic(0,2)",
            "m:2 @18446744073709551615",
            "m:2 @(0,18446744073709551615)",
            "x18446744073709551615 x2",
            long.as_str(),
        ],
        ("--path", _) => vec!["", "-5", "(0,-1)", "(0,18446744073709551615)", "(0,1e400)", "(nan,1)", long.as_str()],
        (_, "FILE" | "FILE.npy" | "FILE.json" | "FILE.svg" | "FILE.toml" | "FILE.csv") => vec!["", "-5", long.as_str()],
        // A folder that cannot be used is only warned of.
        (_, "DIR") => vec!["", "-5"],
        (_, _) => vec!["", "-5", "nan", long.as_str()],
    };
    let text = other.iter().map(OsString::from);
    let not_text = OsStr::from_bytes(b"\xff7").to_owned();
    let names_a_file = value_name.starts_with("FILE") || value_name == "DIR";
    text.chain((!names_a_file).then_some(not_text)).collect()
}

#[test]
fn every_flag_refuses_values_that_cannot_be_meant() {
    let folder = Folder::new("values");
    let flags = flags(&folder);
    assert!(flags.len() >= 20, "{flags:?}");
    let cases: Vec<(&str, &str, OsString)> = flags
        .iter()
        .flat_map(|(flag, name)| {
            bad_values(flag, name).into_iter().map(move |value| (flag.as_str(), name.as_str(), value))
        })
        .collect();
    each(&cases, |(flag, name, value)| {
        let shown = value.to_string_lossy();
        let case = format!("{flag} `{}`", shown.chars().take(60).collect::<String>());
        let more: &[&str] = match *flag {
            "--machine" => &["--explain"],
            "--weak" | "--csv" => &["--scaling", "1,2"],
            "--distribution" => &["-n4", "-t1"],
            _ => &[],
        };
        // `--completions` does not accept an expression.
        let ended = if *flag == "--completions" {
            output_of(program(&folder, &[]).arg(flag).arg(value))
        } else {
            let more: Vec<&OsStr> = more.iter().map(OsStr::new).collect();
            run(&folder, &[&[OsStr::new(flag), value][..], &more].concat())
        };
        // A message about a file contains the name of the file instead of the flag.
        let says = if name.starts_with("FILE") && value.len() > 2 { &[][..] } else { &[*flag][..] };
        refused(&ended, &case, says);
        let quoted = shown.len() < 60 && !value.is_empty() && value.to_str().is_some();
        assert!(
            !quoted || shown.split(['=', ':', ' ', 'x']).any(|part| !part.is_empty() && ended.err.contains(part)),
            "{case}: {}",
            ended.err
        );
    });
    assert_eq!(folder.files(), [""; 0]);
}

/// If the value of a flag is missing, the next flag must not be parsed as the value.
#[test]
fn a_missing_value_is_missed() {
    let folder = Folder::new("missing");
    let flags = flags(&folder);
    each(&flags, |(flag, _)| {
        if flag == "--completions" {
            return;
        }
        let swallowed = run(&folder, &[OsStr::new(flag), OsStr::new("--json")]);
        refused(&swallowed, flag, &[flag, "'--json'", "it looks like a flag; is the value missing?"]);
        assert_eq!(swallowed.json()["error"]["kind"], "usage");
        refused(&run(&folder, &[OsStr::new(flag)]), flag, &[flag, "a value is required"]);
    });
    for (given, says) in [
        (&["-n", "-3"][..], "invalid value '-3' for '--ranks <N>': expected a whole number from 1 to"),
        (&["-n-3"], "invalid value '-3' for '--ranks <N>'"),
        (&["-t", "-1"], "invalid value '-1' for '--workers <N>'"),
        (&["-o", "-x.npy"], "'--output <FILE.npy>'"),
        (&["--memory-limit", "-5"], "--memory-limit: `-5` is no number of bytes"),
        (&["--cut", "-5"], "--cut: there is no dimension `-5` to cut"),
        (&["--repeat", "1000000001"], "'--repeat <N>': number too large, it may be 1 to 1000000000"),
        (&["-n1", "--accumulate", "-1.npy"], "a file whose name begins with a hyphen is written ./-name"),
        (&["--ranks", "5000"], "--ranks 5000 are more than the 4096 that run in one process"),
        (
            &["--workers", "70000", "--explain"],
            "--workers 70000 are more than the 65536 workers that plans are made for",
        ),
    ] {
        let given: Vec<&OsStr> = given.iter().map(OsStr::new).collect();
        refused(&run(&folder, &given), says, &[says]);
    }
    assert_eq!(folder.files(), [""; 0]);
}

/// Tests grids that need more ranks than exist, including numbers of ranks that overflow.
#[test]
fn grids_are_counted_before_they_are_used() {
    let folder = Folder::new("grids");
    let of = |spec: &str| {
        let given = ["-n4", "-t1", "--distribution", spec].map(OsStr::new);
        run(&folder, &given)
    };
    for (spec, says) in [
        (
            "m:6148914691236517206 k:3;*;*",
            "it needs 6148914691236517206 x 3 ranks, more than 64 bits count; there are 4",
        ),
        (
            "m:4294967296 k:4294967296;*;*",
            "it needs 4294967296 x 4294967296 ranks, more than 64 bits count; there are 4",
        ),
        ("m:5", "it needs 5 ranks, and there are 4"),
        ("m:2 k:2 x2", "it needs 8 ranks, and there are 4"),
        ("m:9223372036854775807", "it needs 9223372036854775807 ranks, and there are 4"),
        ("m:2 @3", "it needs 5 ranks, and there are 4"),
        ("m:2 @18446744073709551614", "it begins at rank 18446744073709551614, and its 2 ranks end beyond"),
        ("m:2 @(0,18446744073709551614)", "it needs 18446744073709551615 ranks, and there are 4"),
    ] {
        refused(&of(spec), spec, &["--distribution: distribution of operand 0: ", says]);
    }
    // Blocks and cut positions beyond the extent leave some ranks without indices.
    for spec in
        ["m:cyclic(18446744073709551615,4)", "m:cyclic(9223372036854775808,2)", "m:at(0,5,18446744073709551615)"]
    {
        let given = ["-n4", "-t1", "--check", "--json", "--distribution", spec].map(OsStr::new);
        assert_eq!(run(&folder, &given).succeeded().json()["check"]["ok"], true, "{spec}");
    }
    let long = ["--size", "m=1099511627776,k=1,n=1", "-n2", "-t1", "--explain", "--distribution", "m:cyclic(1,2);*;*"];
    let ended = output_of(&mut program(&folder, &[&["mk,kn->mn"][..], &long].concat()));
    refused(&ended, "cyclic", &["blocks of rank 0 would be 549755813888 separate pieces, 1048576 at most"]);
}

/// Tests the limits for values in machine files and topologies.
#[test]
fn machines_are_within_reason() {
    let folder = Folder::new("machines");
    let cases = [
        ("ranks = 2000000", "ranks is 2000000, and must be from 1 to 1048576"),
        ("ranks = 9223372036854775807", "ranks is 9223372036854775807, and must be from 1 to 1048576"),
        ("ranks = 9223372036854775808", "machine.toml: "),
        ("ranks = 0", "ranks is 0, and must be from 1 to 1048576"),
        ("ranks = -1", "invalid value: integer `-1`"),
        ("workers = 9223372036854775807", "workers is 9223372036854775807, and must be from 1 to 65536"),
        ("ranks_per_node = 0", "ranks_per_node is 0"),
        ("flops = nan", "flops is NaN, and must be from 0.001 to 1e24"),
        ("new_memory_bandwidth = 0", "new_memory_bandwidth is 0.0, and must be"),
        ("first_run_seconds = -1", "first_run_seconds is -1.0, and must be from 0.0"),
        ("flops = inf", "flops is inf, and must be"),
        ("flops = 1e400", "machine.toml: "),
        ("link_bandwidth = 1e-300", "link_bandwidth is 1e-300, and must be"),
        ("link_latency = -1e-5", "link_latency is -1e-5, and must be from 0.0 to 1000000000.0"),
        ("node_link_bandwidth = 0", "node_link_bandwidth is 0.0, and must be from 0.001 to 1e24"),
        ("bisection_bandwidth = -1e9", "bisection_bandwidth is -1000000000.0, and must be from 0.001 to 1e24"),
        ("bisection_bandwidth = nan", "bisection_bandwidth is NaN, and must be"),
        ("node_link_bandwidth = 'fast'", "invalid type: string"),
        ("solo_speedup = 0.5", "solo_speedup is 0.5, and must be from 1.0"),
        // `alone` is the former name of `solo_speedup`, and is still accepted.
        ("alone = 0.5", "solo_speedup is 0.5, and must be from 1.0"),
        ("block_rates = [[16.0, nan]]", "block_rates are sides in"),
        ("copy_rates = [[2e6, 1e10], [1e6, 2e10]]", "copy_rates are bytes in"),
        ("speeds = [1.0, inf]\nranks = 2", "speeds are"),
        ("topology = 'pack:4294967296 core:4294967296'", "a host has at most 65536 processing units"),
        ("topology = 'numa:100000 core:1'", "a host has at most 512 NUMA domains"),
        ("topology = 'core:-1'", "needs a number above 0"),
    ];
    for (text, says) in cases {
        folder.write("machine.toml", text.as_bytes());
        let given = ["--explain", "--machine", "machine.toml"].map(OsStr::new);
        refused(&run(&folder, &given), text, &["--machine machine.toml: ", says]);
    }
    folder.write("machine.toml", "x".repeat(1 << 20).as_bytes());
    let given = ["--explain", "--machine", "machine.toml"].map(OsStr::new);
    refused(&run(&folder, &given), "a megabyte", &["--machine machine.toml: "]);
    for (variable, value, says) in [
        ("EINSUM_DIST_TOPOLOGY", "pack:4294967296 core:4294967296", "a host has at most 65536 processing units"),
        ("EINSUM_DIST_TOPOLOGY", "core:18446744073709551616", "needs a number above 0 behind the colon"),
        ("EINSUM_DIST_INJECT", "worker@18446744073709551616", "`18446744073709551616` is no rank"),
        ("EINSUM_DIST_INJECT", "worker@7", "there is no rank 7 of 1 rank"),
        ("EINSUM_DIST_INJECT", "silence18446744073709551615@0", "no fault `silence18446744073709551615`"),
    ] {
        let ended = output_of(program(&folder, &["mk,kn->mn", "-s8"]).env(variable, value));
        refused(&ended, value, &[variable, says]);
    }
}
