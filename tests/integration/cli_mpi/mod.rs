//! Tests the program under mpirun. Results must equal those of one process, and no rank may hang.
//!
//! `EINSUM_DIST_MPIRUN` contains the launcher of the MPI library that the program is built with, and the launcher's
//! options. If it is not set, these tests return early.

mod faults;
mod files;
mod probe;
mod search;
mod slice_groups;
mod values;

use std::time::Duration;

use crate::command::{
    Folder, OUT_OF_CORE, PRODUCT, REFUSED, RunOutput, TOO_LITTLE, executable, files, in_parts, large_operand, launcher,
    out_of_core, output_of, product, program,
};
use crate::timeline::arrows::arrows;

fn run(folder: &Folder, ranks: &str, arguments: &[&str]) -> Option<RunOutput> {
    let mut command = launcher(folder)?;
    Some(output_of(command.args(["-n", ranks, executable()]).args(arguments)))
}

/// Runs two ranks with different arguments.
fn run_each(folder: &Folder, first: &[&str], second: &[&str]) -> Option<RunOutput> {
    let mut command = launcher(folder)?;
    Some(output_of(
        command.args(["-n", "1", executable()]).args(first).args([":", "-n", "1", executable()]).args(second),
    ))
}

#[track_caller]
fn refused(ended: &RunOutput, says: &str) {
    assert_eq!(ended.code, Some(2), "{}\n{}", ended.out, ended.err);
    assert_eq!(ended.out, "");
    assert!(ended.err.contains(says), "{}", ended.err);
    assert_eq!(ended.err.matches("error: ").count(), 1, "{}", ended.err);
    assert!(ended.took < Duration::from_secs(15), "{:?}", ended.took);
}

/// Ranks that may use the same cores divide these cores among them, if there are enough for the workers of each rank.
#[test]
fn ranks_of_a_host_have_cores_of_their_own() {
    let folder = Folder::new("mpi-cores");
    let cores = |ran: RunOutput| -> Vec<Vec<serde_json::Value>> {
        let report = ran.succeeded().json();
        report["per_rank"].as_array().unwrap().iter().map(|rank| rank["cpus"].as_array().unwrap().clone()).collect()
    };
    let asked = ["mk,kn->mn", "-s64", "-t1", "--json"];
    let all = cores(output_of(&mut program(&folder, &asked))).concat();
    let threads = output_of(&mut program(&folder, &[&asked[..], &["-n2"]].concat()));
    for shared in [Some(threads), run(&folder, "2", &asked)].into_iter().flatten().map(cores) {
        let apart = shared[0].iter().all(|core| !shared[1].contains(core));
        assert!(apart || all.len() < 2, "{all:?}: {shared:?}");
    }
}

/// If a launcher binds ranks to only a few of the available cores, the program must print one warning.
#[test]
fn masks_that_starve_workers_are_said() {
    let folder = Folder::new("mpi-starved");
    let warned = |topology: &str, flags: &[&str]| {
        let mut command = launcher(&folder)?;
        let command =
            command.env("EINSUM_DIST_TOPOLOGY", topology).args(["-n", "2", executable(), "mk,kn->mn", "-s64"]);
        Some(output_of(command.args(flags)).succeeded().err)
    };
    // This host has fewer cores than the topology in the next line.
    let Some(printed) = warned("pack:2 numa:1 core:4096", &[]) else { return };
    let warnings: Vec<&str> = printed.lines().filter(|line| line.starts_with("warning: ")).collect();
    let [warning] = warnings[..] else { panic!("{printed}") };
    let ends = ", its share of the host is 4096; try mpirun --bind-to none, or --map-by numa --bind-to numa";
    assert!(
        warning.starts_with("warning: the affinity mask of rank 0 leaves it ") && warning.ends_with(ends),
        "{warning}"
    );
    for quiet in [&["-q"][..], &["-t1"]] {
        let printed = warned("pack:2 numa:1 core:4096", quiet).unwrap();
        assert!(!printed.contains("warning: "), "{quiet:?}: {printed}");
    }
}

/// The first run measures the rates and caches them for the next run. All ranks must plan with the same rates.
#[test]
fn measured_rates_are_those_of_one_rank() {
    let folder = Folder::new("mpi-rates");
    let Some(mut command) = launcher(&folder) else { return };
    command.env_remove("EINSUM_DIST_RATES").env("EINSUM_DIST_CACHE", folder.path());
    command.args(["-n", "3", executable(), "mk,kn->mn", "-s200", "-t1", "--json"]);
    let first = output_of(&mut command).succeeded().json();
    // The cache consists of two files, one for the name of the fastest transport and one for the measured rates of that
    // transport.
    let remembered = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(remembered, 2);
    let again = output_of(&mut command).succeeded().json();
    assert_eq!(first["plan_fingerprint"], again["plan_fingerprint"]);
    assert_eq!(first["transport"], again["transport"]);
}

#[test]
fn results_are_those_of_ranks_in_one_process() {
    let folder = Folder::new("mpi-results");
    for ranks in ["1", "2", "3"] {
        for (expression, flags, transport) in [
            ("mk,kn->mn", &["--algorithm", "ring-mn"][..], "auto"),
            ("mk,kn->mn", &["--algorithm", "ring-k", "--no-overlap"], "message"),
            ("bmk,bkn->bmn", &["--algorithm", "c"], "shared"),
            ("[ij,jk->ik],kl->il", &["--dtype", "c64"], "rma"),
        ] {
            let common = [&[expression, "-s33", "-t1", "--check", "--json"], flags].concat();
            let by = ["--transport", transport, "-o", "mpi.npy"];
            let Some(mpi) = run(&folder, ranks, &[&common[..], &by].concat()) else { return };
            let mpi = mpi.succeeded().json();
            assert_eq!(mpi["check"]["ok"], true);
            let used = match transport {
                "auto" if ranks == "1" => "message",
                "auto" => "shared",
                named => named,
            };
            assert_eq!((mpi["ranks"].as_u64(), &mpi["transport"]), (ranks.parse().ok(), &used.into()));
            let alone = [&common[..], &["-n", ranks, "-o", "alone.npy"]].concat();
            let alone = output_of(&mut program(&folder, &alone)).succeeded().json();
            assert_eq!(mpi["plan_fingerprint"], alone["plan_fingerprint"]);
            let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
            assert!(bytes("mpi.npy") == bytes("alone.npy"), "{expression} on {ranks} ranks");
        }
    }
}

#[test]
fn parts_of_a_result_go_to_one_file() {
    let folder = Folder::new("mpi-parts");
    product(&folder);
    output_of(&mut program(&folder, &[&PRODUCT[..], &["-t1", "-o", "whole.npy"]].concat())).succeeded();
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let onto = ["-t1", "--accumulate", "whole.npy", "-o", "twice.npy"];
    output_of(&mut program(&folder, &[&PRODUCT[..], &onto].concat())).succeeded();
    for ranks in ["1", "2", "3"] {
        let limited = [&PRODUCT[..], &["-t1", "--memory-limit", TOO_LITTLE, "--check", "--json"]].concat();
        for (flags, wanted) in [(&["--repeat", "2"][..], "whole.npy"), (&["--accumulate", "whole.npy"], "twice.npy")] {
            let arguments = [&limited[..], flags, &["-o", "parts.npy"]].concat();
            let Some(report) = run(&folder, ranks, &arguments) else { return };
            in_parts(&report.succeeded().json());
            assert!(bytes("parts.npy") == bytes(wanted), "{ranks} ranks");
        }
    }
    assert_eq!(folder.files(), ["left.npy", "parts.npy", "right.npy", "twice.npy", "whole.npy"]);
}

#[test]
fn every_rank_reads_its_operands_in_parts() {
    let folder = Folder::new("mpi-out-of-core");
    large_operand(&folder);
    output_of(&mut program(&folder, &[&OUT_OF_CORE[..4], &["-o", "whole.npy"]].concat())).succeeded();
    for (ranks, flag) in [("2", "--repeat=2"), ("3", "--checkpoint=state")] {
        let arguments = [&OUT_OF_CORE[..], &["--check", "--json", "-o", "parts.npy", flag]].concat();
        let Some(report) = run(&folder, ranks, &arguments) else { return };
        out_of_core(&report.succeeded().json());
        assert!(folder.read::<f32>("parts.npy") == folder.read::<f32>("whole.npy"), "{ranks} ranks");
    }
}

/// The times of all processes refer to one clock, so no transfer may arrive before it is sent.
#[test]
fn runs_are_traced_by_rank_0() {
    let folder = Folder::new("mpi-traced");
    let product = ["mk,kn->mn", "-s90", "-t1", "--algorithm", "ring-mn", "--repeat", "3"];
    let shown = ["--trace", "t.json", "--timeline", "t.svg"];
    let Some(ended) = run(&folder, "3", &[&product[..], &shown].concat()) else { return };
    assert!(ended.succeeded().out.contains(" between nodes, total over all ranks\n"));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(arrows(&read("t.json"), 3, 5.0) >= 6);
    assert!(read("t.svg").contains("mk,kn-&gt;mn on 3 ranks: ") && read("t.svg").contains("rank 2"));
    assert_eq!(folder.files(), ["t.json", "t.svg"]);
    refused(&run(&folder, "2", &["mk,kn->mn", "--trace", "none/t.json"]).unwrap(), "the directory none does not exist");
}

#[test]
fn bad_input_is_refused_once() {
    let folder = Folder::new("mpi-refused");
    files(&folder);
    let before = folder.files();
    for (arguments, says) in REFUSED {
        let Some(ended) = run(&folder, "2", arguments) else { return };
        refused(&ended, says);
    }
    for (arguments, says) in [
        (&["mk,kn->mn", "--ranks", "2"][..], "--ranks is for ranks inside one process"),
        (&["mk,kn->mn", "--transport", "throttled:1e9"], "--transport throttled is for ranks inside one process"),
        (&["mk,kn->mn", "--transport", "pigeon"], "unknown transport `pigeon`"),
        (&["->", "-s", "1", "--strict-ranks"], "2 ranks are more than the 1 element"),
    ] {
        refused(&run(&folder, "2", arguments).unwrap(), says);
    }
    let json = run(&folder, "2", &["mk,kn->mx", "--json"]).unwrap();
    assert_eq!((json.code, &json.json()["error"]["kind"]), (Some(2), &"parse".into()));
    assert_eq!(folder.files(), before);
}

#[test]
fn what_is_wrong_on_one_rank_only_is_said_by_rank_0() {
    let folder = Folder::new("mpi-one");
    files(&folder);
    let before = folder.files();
    for (good, bad, says) in [
        (&["mk,kn->mn", "-s8", "-o", "c.npy"][..], &["mk,kn->mn", "-s8", "-o", "none/c.npy"][..], "none/c.npy"),
        (&["mk,kn->mn", "a.npy", "b.npy"], &["mk,kn->mn", "a.npy", "gone.npy"], "gone.npy: cannot open"),
        (&["mk,kn->mn", "-s8"], &["mk,kn->mn", "-s8", "--nonsense"], "--nonsense"),
        (&["mk,kn->mn", "-s8"], &["mk,kn->mn", "-s9"], "rank 1 has another plan"),
        (&["mk,kn->mn", "-s8"], &["mk,kn->mn", "-s8", "--kernel", "reference"], "rank 1 has another plan"),
        (&["mk,kn->mn", "-s8"], &["mk,kn->mn", "-s8", "--kernel", "magic"], "unknown kernel `magic`"),
    ] {
        let Some(ended) = run_each(&folder, good, bad) else { return };
        refused(&ended, says);
        refused(&run_each(&folder, bad, good).unwrap(), if says.starts_with("rank 1") { "another plan" } else { says });
    }
    assert_eq!(folder.files(), before);
}

#[test]
fn a_panic_on_one_rank_ends_all() {
    let folder = Folder::new("mpi-panic");
    for place in ["worker@1", "communication@1", "worker@0", "communication@0"] {
        let Some(mut command) = launcher(&folder) else { return };
        let (task, rank) = place.split_once('@').unwrap();
        let arguments = ["-n", "2", executable(), "mk,kn->mn", "-s64", "-t1", "--algorithm", "ring-k", "-o", "c.npy"];
        let ended = output_of(command.env("EINSUM_DIST_INJECT", place).args(arguments));
        assert!(ended.code != Some(0), "{}", ended.out);
        assert!(ended.took < Duration::from_secs(5), "{:?}", ended.took);
        let (who, says) = (
            format!("einsum-dist: rank {rank} on "),
            match task {
                "worker" => ": task 0 (mk,kn->mn): panicked",
                _ => ": communication, task ",
            },
        );
        assert!(ended.err.lines().any(|line| line.starts_with(&who) && line.contains(says)), "{}", ended.err);
        assert_eq!(folder.files(), [""; 0]);
    }
}

#[test]
fn help_is_printed_once() {
    let folder = Folder::new("mpi-help");
    let Some(help) = run(&folder, "2", &["--help"]) else { return };
    assert_eq!(help.succeeded().out.matches("Usage:").count(), 1);
}

#[test]
fn the_expression_may_come_from_standard_input() {
    let folder = Folder::new("mpi-stdin");
    folder.write("e.txt", b"mk,kn->mn");
    let Some(mut command) = launcher(&folder) else { return };
    let input = std::fs::File::open(folder.path().join("e.txt")).unwrap();
    let ended = output_of(command.args(["-n", "2", executable(), "-", "-s8", "--check"]).stdin(input)).succeeded();
    assert!(ended.out.contains("check       ok"), "{}", ended.out);
}
