//! Tests the placement of ranks on cores, in runs on hosts with several NUMA domains and in plans for other machines.
//!
//! `EINSUM_DIST_TOPOLOGY` splits the cores of this host into domains, so that threads are actually pinned. Tests that
//! need two cores return early if this process has only one.

use crate::command::{Folder, RunOutput, executable, output_of, program};
use einsum_dist::api::host;
use serde_json::{Value, json};

/// Runs the program with `topology` instead of this host's topology.
fn on(topology: &str, folder: &Folder, arguments: &[&str]) -> RunOutput {
    output_of(program(folder, arguments).env("EINSUM_DIST_TOPOLOGY", topology))
}

/// Whether this process may use the processing units 0 and 1. The topologies in the tests assign these units to
/// domains.
fn two_cores() -> bool {
    host::cpus().starts_with(&[0, 1])
}

/// The first two processing units that this process may use.
fn two_units() -> Option<[usize; 2]> {
    host::cpus().first_chunk().copied()
}

/// Runs the program on only the two processing units of [`two_units`], with a topology in which each unit is a NUMA
/// domain of the same number.
fn on_two(folder: &Folder, arguments: &[&str]) -> RunOutput {
    let [first, second] = two_units().unwrap();
    let here = program(folder, arguments);
    let mut bound = std::process::Command::new("taskset");
    bound.args(["-c", &format!("{first},{second}"), executable()]).args(arguments).current_dir(folder.path());
    for (name, value) in here.get_envs() {
        match value {
            Some(value) => bound.env(name, value),
            None => bound.env_remove(name),
        };
    }
    output_of(bound.env("EINSUM_DIST_TOPOLOGY", domains_of_one_core()))
}

/// A topology with one single-core domain per processing unit of this host.
fn domains_of_one_core() -> String {
    format!("numa:{} core:1", host::cpus().iter().max().unwrap() + 1)
}

fn of_ranks(report: &Value, what: &str) -> Vec<Value> {
    report["per_rank"].as_array().unwrap().iter().map(|rank| rank[what].clone()).collect()
}

#[test]
fn a_domain_has_a_rank_by_default() {
    let folder = Folder::new("placement-default");
    let asked = ["mk,kn->mn", "-s64", "--json", "--check"];
    if two_cores() {
        let cores = host::cpus();
        let report = on(&domains_of_one_core(), &folder, &asked).succeeded().json();
        assert_eq!((report["ranks"].as_u64(), report["workers"].as_u64()), (Some(cores.len() as u64), Some(1)));
        assert_eq!(of_ranks(&report, "cpus"), cores.iter().map(|core| json!([core])).collect::<Vec<_>>());
        assert_eq!(of_ranks(&report, "numa"), cores.iter().map(|core| json!(core)).collect::<Vec<_>>());
        assert_eq!(report["check"]["ok"], true);
        // The default number of ranks never causes an error, even with more ranks than elements.
        on(&domains_of_one_core(), &folder, &["i,i->", "-s1", "--check"]).succeeded();
        on(&domains_of_one_core(), &folder, &["i,i->", "-s1", "-n2", "--strict-ranks"])
            .refused("2 ranks are more than the 1 element");
        let strict = ["i,i->", "-s1", "--strict-ranks"];
        on(&domains_of_one_core(), &folder, &strict).succeeded();
    }
    let one = format!("numa:1 core:{}", host::cpus().iter().max().map_or(1, |last| last + 1));
    let report = on(&one, &folder, &asked).succeeded().json();
    assert_eq!((report["ranks"].as_u64(), &of_ranks(&report, "numa")[..]), (Some(1), &[json!(0)][..]));
    assert_eq!(of_ranks(&report, "cpus"), [json!(host::cpus())]);
    // One rank with two workers uses the cores of two domains.
    let Some([first, second]) = two_units() else { return };
    let report = on_two(&folder, &["mk,kn->mn", "-s64", "--json", "-n1"]).succeeded().json();
    assert_eq!((report["workers"].as_u64(), of_ranks(&report, "numa")), (Some(2), vec![Value::Null]));
    assert_eq!(of_ranks(&report, "cpus"), [json!([first, second])]);
}

/// Tests the report for the real topology of this host.
#[test]
fn ranks_of_this_host_say_where_they_are() {
    let folder = Folder::new("placement-here");
    let topology = host::allowed().unwrap();
    let here =
        |arguments: &[&str]| output_of(program(&folder, arguments).env_remove("EINSUM_DIST_TOPOLOGY")).succeeded();
    let report = here(&["mk,kn->mn", "-s64", "-t1", "--json"]).json();
    assert_eq!(report["ranks"].as_u64(), Some(topology.ranks() as u64));
    let numbers: Vec<Value> = topology.domains.iter().map(|domain| json!(domain.number)).collect();
    assert_eq!(of_ranks(&report, "numa"), numbers);
    let printed = here(&["mk,kn->mn", "-s64", "-n2", "-t1", "-v"]).err;
    assert!(
        printed.contains(&format!("\ntopology  {}\nplacement rank 0: NUMA domain", host::topology().unwrap())),
        "{printed}"
    );
    assert!(printed.contains("\n          rank 1: NUMA domain"), "{printed}");
}

#[test]
fn more_ranks_than_cores_share_them() {
    let folder = Folder::new("placement-crowded");
    let Some([first, second]) = two_units() else { return };
    let ran = on_two(&folder, &["mk,kn->mn", "-s64", "-n3", "-t1", "-v", "--check", "--json"]).succeeded();
    let crowded = |rank: usize| format!("rank {rank}: NUMA domain {first}, all threads on {first}\n          ");
    let printed = format!("placement {}{}rank 2: NUMA domain {second}, workers on {second}\n", crowded(0), crowded(1));
    assert!(ran.err.contains(&printed), "{}", ran.err);
    assert_eq!(of_ranks(&ran.json(), "numa"), [json!(first), json!(first), json!(second)]);
}

#[test]
fn a_topology_that_is_none() {
    let folder = Folder::new("placement-wrong");
    let says = "error: EINSUM_DIST_TOPOLOGY: `cores` is no level of a topology (known: ";
    on("cores:4", &folder, &["mk,kn->mn", "-s4"]).refused(says);
    folder.write("machine.toml", b"topology = 'core:0'");
    let arguments = ["mk,kn->mn", "-s4", "--explain", "--machine", "machine.toml"];
    output_of(&mut program(&folder, &arguments)).refused("`core:0` needs a number above 0 behind the colon");
}

/// If the machine is read from a file, its topology determines the numbers of ranks and workers that no flag sets.
#[test]
fn a_topology_says_how_many_ranks_and_workers() {
    let folder = Folder::new("placement-machine");
    let counts = |text: &str, flags: &[&str]| {
        folder.write("machine.toml", text.as_bytes());
        let arguments = [&["mk,kn->mn", "-s64", "--explain", "--json", "--machine", "machine.toml"], flags].concat();
        let report = output_of(&mut program(&folder, &arguments)).succeeded().json();
        (report["ranks"].as_u64().unwrap(), report["workers"].as_u64().unwrap())
    };
    let grace = "topology = 'pack:2 numa:1 core:72 pu:1'";
    assert_eq!(counts(grace, &[]), (2, 71));
    assert_eq!(counts(grace, &["-n1"]), (1, 144));
    assert_eq!(counts(grace, &["-n4"]), (4, 35));
    assert_eq!(counts(grace, &["-n4", "-t8"]), (4, 8));
    assert_eq!(counts(&format!("ranks = 8\nranks_per_node = 2\n{grace}"), &[]), (8, 71));
    assert_eq!(counts(&format!("workers = 72\n{grace}"), &[]), (2, 72));
    let explained = |flags: &[&str]| {
        let arguments = [&["mk,kn->mn", "-s256", "--explain", "--machine", "machine.toml"], flags].concat();
        output_of(&mut program(&folder, &arguments)).succeeded().out
    };
    let crowded = explained(&[]);
    assert!(!crowded.contains("warning"), "{crowded}");
    assert!(crowded.contains("rank 1: NUMA domain 1, workers on 72-143\n"), "{crowded}");
    let starved = explained(&["-n3"]);
    assert!(starved.contains("\nwarning   rank 0 has 72 workers and 36 cores of its own\n"), "{starved}");
}

/// The output shown in docs/placement.md must match that of the program, except for names and numbers that depend on
/// the host.
#[test]
fn the_documentation_shows_what_is_printed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let folder = Folder::new("placement-docs");
    std::os::unix::fs::symlink(format!("{root}/data"), folder.path().join("data")).unwrap();
    let text = std::fs::read_to_string(format!("{root}/docs/placement.md")).unwrap();
    let of_any_host = |line: &&str| !["memory ", "fingerprint ", "kernel "].iter().any(|name| line.starts_with(name));
    let shown: Vec<&str> = text.split("```text\n").filter_map(|block| block.strip_prefix("$ einsum-dist ")).collect();
    assert_eq!(shown.len(), 4);
    for block in shown {
        let (command, printed) = block.split_once('\n').unwrap();
        let mut shell = std::process::Command::new("sh");
        let bin = std::path::Path::new(executable()).parent().unwrap().display();
        shell.args(["-c", &format!("einsum-dist {command}")]).current_dir(folder.path());
        shell.env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap()));
        let out = output_of(&mut shell).succeeded().out;
        let [printed, out] = [printed.split("```").next().unwrap(), &out].map(|text| text.lines().filter(of_any_host));
        let [printed, out] = [printed, out].map(|lines| lines.collect::<Vec<_>>().join("\n"));
        assert_eq!(out, printed, "einsum-dist {command}");
    }
}
