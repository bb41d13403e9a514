//! Tests groups of ranks that take disjoint sets of slices, with the program's flags, in one process and under MPI.

use std::process::Command;

use crate::command::{Folder, executable, launcher, output_of, program};

const SIZES: &str = "-sa=35,b=50,c=30,d=25,i=31";

const FLAGS: [&str; 8] = [
    "[ai,bi->abi],[ci,di->cdi]->ad",
    SIZES,
    "-t1",
    "--memory-limit=120kB",
    "--slice-groups=2",
    "--accumulate=z.npy",
    "-oc.npy",
    "--check",
];

/// The command on this number of ranks, in one process or, if there is a launcher, in as many.
fn commands(folder: &Folder, ranks: usize) -> Vec<Command> {
    let mut here = program(folder, &FLAGS);
    here.arg(format!("-n{ranks}"));
    let launched = launcher(folder).map(|mut command| {
        command.arg("-n").arg(ranks.to_string()).arg(executable()).args(FLAGS);
        command
    });
    [here].into_iter().chain(launched).collect()
}

#[test]
fn flags_work_with_groups() {
    let folder = Folder::new("slice-groups");
    output_of(&mut program(&folder, &["ad->ad", "-sa=35,d=25", "--seed=5", "-oz.npy", "-n1"])).succeeded();
    output_of(&mut program(&folder, &[&FLAGS[..2], &["-n1", "--accumulate=z.npy", "-oc.npy"]].concat())).succeeded();
    let want = folder.read::<f32>("c.npy");
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    for ranks in [2, 3, 5] {
        for mut command in commands(&folder, ranks) {
            command.args(["--repeat=2", "--warmup=1", "--trace=t.json", "--timeline=t.svg", "--json"]);
            let ended = output_of(&mut command).succeeded();
            let report = ended.json();
            assert_eq!(report["slice_groups"], 2);
            assert!(report["slices"].as_u64() > Some(1) && report["check"]["ok"] == true, "{}", ended.out);
            for rank in report["per_rank"].as_array().unwrap() {
                assert_eq!(rank["bytes_received"]["planned"], rank["bytes_received"]["measured"]);
            }
            for (got, want) in folder.read::<f32>("c.npy").iter().zip(&want) {
                assert!((got - want).abs() < 1e-3, "{got} {want}");
            }
            assert!(text("t.svg").contains("</svg>") && text("t.json").contains("traceEvents"));
        }
    }
}

#[test]
fn a_fault_in_one_group_ends_all() {
    let folder = Folder::new("slice-groups-faults");
    output_of(&mut program(&folder, &["ad->ad", "-sa=35,d=25", "-oz.npy", "-n1"])).succeeded();
    for (fault, what) in [
        ("worker@2:0", "panicked: injected"),
        ("worker@2:1", "panicked: injected"),
        ("communication@3:1", "communication"),
        ("allocation@1", ": cannot allocate "),
    ] {
        for mut command in commands(&folder, 4) {
            let ended = output_of(command.args(["--timeout=1"]).env("EINSUM_DIST_INJECT", fault));
            assert!(ended.code != Some(0) && ended.err.contains(what), "{fault}: {}", ended.err);
            assert_eq!(folder.files(), ["z.npy"], "{fault}");
        }
    }
}

#[test]
fn thousands_of_ranks_are_explained_with_their_bytes() {
    let folder = Folder::new("slice-groups-explained");
    for ranks in ["1024", "8192"] {
        let (given, groups) = (format!("-n{ranks}"), format!("--slice-groups={ranks}"));
        let arguments = [FLAGS[0], "-s32", "-t1", "--memory-limit=120kB", given.as_str(), groups.as_str()];
        let text = output_of(program(&folder, &arguments).arg("--simulate")).succeeded().out;
        for line in
            [&format!("groups    {ranks} of 1 rank"), "simulated ", " between groups", "verified: by symmetry classes"]
        {
            assert!(text.contains(line), "{text}");
        }
        let report = output_of(program(&folder, &arguments).args(["--explain", "--json"])).succeeded().json();
        let copies = report["nodes"].as_array().unwrap().iter().filter(|node| node["op"] == "redistribute");
        let bytes: Vec<u64> = copies.filter_map(|node| node["bytes_received"]["planned"]["max"].as_u64()).collect();
        assert!(bytes.len() > 4 && bytes.iter().all(|&bytes| bytes > 0), "{bytes:?}");
    }
    let refused = output_of(&mut program(&folder, &[&FLAGS[..2], &["--slice-groups=0"]].concat()));
    refused.refused("--slice-groups");
    let without = output_of(&mut program(&folder, &[&FLAGS[..2], &["-n2", "--slice-groups=2"]].concat())).succeeded();
    assert!(without.err.contains("the plan has 1 group of ranks, not 2"), "{}", without.err);
}
