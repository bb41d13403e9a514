//! Tests that searches for slices and for paths terminate, and find a result if one exists.

use crate::command::{Folder, RunOutput, output_of, program};
use crate::networks::{complete, lattice, network};

/// Edges of a circulant graph, in which each tensor is connected to the tensors at the distances `steps`.
fn circulant(tensors: usize, steps: &[usize]) -> Vec<(usize, usize)> {
    (0..tensors).flat_map(|at| steps.iter().map(move |step| (at, (at + step) % tensors))).collect()
}

fn explained(folder: &Folder, expression: &str, size: &str, flags: &[&str]) -> RunOutput {
    folder.write("network.txt", expression.as_bytes());
    output_of(&mut program(folder, &[&["@network.txt", "-s", size, "-t1", "--explain", "--json"], flags].concat()))
}

/// Several steps have the same peak memory, so slicing a single dimension does not lower the peak.
#[test]
fn slices_are_found_where_steps_have_the_same_peak() {
    let folder = Folder::new("same-peak");
    let peps = network(144, &lattice(&[12, 12]));
    let plan = |flags: &[&str]| explained(&folder, &peps, "2", flags).succeeded().json();
    let report = plan(&["--memory-limit", "105kB"]);
    assert!(report["peak_bytes"]["planned"].as_u64() <= Some(105_000), "{report}");
    // Nearly every step of a sweep over the lattice has a tensor of maximum size, so one label must be sliced for every
    // few steps.
    assert!(report["slices"].as_u64() > Some(1), "{}", report["slices"]);
}

#[test]
fn slices_are_found_for_other_networks() {
    let folder = Folder::new("other-networks");
    let networks = [
        (network(27, &lattice(&[3, 3, 3])), "3"),
        (network(40, &circulant(40, &[1, 7])), "2"),
        (network(64, &lattice(&[8, 8])), "3"),
    ];
    for (expression, size) in networks {
        let report = |flags: &[&str]| explained(&folder, &expression, size, flags).succeeded().json();
        let peak = |report: &serde_json::Value| report["peak_bytes"]["planned"].as_u64().unwrap();
        let gflop = |report: &serde_json::Value| -> f64 {
            report["nodes"].as_array().unwrap().iter().filter_map(|node| node["gflop"].as_f64()).sum()
        };
        let whole = report(&[]);
        let path = report(&[])["path"].to_string().replace("[[", "[(").replace("]]", ")]");
        let path = path.replace("],[", "),(");
        for share in [2, 8] {
            let limit = peak(&whole) / share;
            // For a given path, only slices lower the peak. The search may also find another path that needs less memory.
            let given = report(&["--memory-limit", &limit.to_string(), "--path", &path]);
            assert!(peak(&given) <= limit && given["slices"].as_u64() > Some(1), "{expression:.60}: {given}");
            let searched = report(&["--memory-limit", &limit.to_string()]);
            assert!(peak(&searched) <= limit, "{expression:.60}: {searched}");
            assert!(gflop(&searched) <= 1.1 * gflop(&given), "{expression:.60}: {searched}");
            assert_eq!(searched["path_search"]["method"], "anneal");
        }
    }
}

/// Slices must be counted correctly even if a product of extents, or a square, exceeds 64 bits.
#[test]
fn slices_of_very_large_extents_are_counted() {
    let folder = Folder::new("large-slices");
    let cubes = "[[a,b,c->abc]->],[[d,e,f->def]->]->";
    let ended = explained(&folder, cubes, "131072", &["--memory-limit", "100MB"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("takes more than 1000000000000 slices"), "{}", ended.err);
    for size in ["i=4294967296,j=4", "i=6000000000,j=4"] {
        let report = explained(&folder, "[i,j->ij]->", size, &["--memory-limit", "60GB"]).succeeded().json();
        assert!(report["slices"].as_u64() > Some(1), "{size}: {report}");
    }
}

#[test]
fn the_best_path_of_a_ring_is_found() {
    let folder = Folder::new("ring");
    let ring: Vec<(usize, usize)> = (0..22).map(|at| (at, (at + 1) % 22)).collect();
    let ended = explained(&folder, &network(22, &ring), "3", &["--path", "optimal"]).succeeded();
    assert_eq!(ended.err, "");
    assert_eq!(ended.json()["path"].as_array().unwrap().len(), 21);
}

/// A search takes longer than a few microseconds of operations, but saves time over many runs.
#[test]
fn auto_searches_if_it_pays() {
    let folder = Folder::new("pays");
    let ring = network(30, &circulant(30, &[1, 5]));
    let search = |runs| explained(&folder, &ring, "2", &["--runs", runs]).succeeded().json()["path_search"].clone();
    let [once, often] = ["1", "1000"].map(search);
    assert_ne!(once["method"], "anneal", "{once}");
    assert_eq!(often["method"], "anneal", "{often}");
    assert!(often["gflop"].as_f64() < once["gflop"].as_f64(), "{once} {often}");
}

#[test]
fn the_search_for_the_best_path_ends_in_time() {
    let folder = Folder::new("complete");
    let ended = explained(&folder, &network(14, &complete(14)), "2", &["--path", "optimal", "--path-time", "0.001"]);
    assert!(
        ended.err.starts_with("warning: --path optimal: not proved optimal: stopped after 0.001 s"),
        "{}",
        ended.err
    );
    assert_eq!(ended.err.matches("warning").count(), 1);
    assert_eq!(ended.succeeded().json()["path"].as_array().unwrap().len(), 13);
    let quiet = explained(&folder, &network(14, &complete(14)), "2", &["--path=optimal", "--path-time=0.001", "-q"]);
    assert_eq!(quiet.succeeded().err, "");
    for bad in ["0", "-1", "soon", "nan", "inf"] {
        let flags = ["ab,bc,cd->ad", "-s2", "--path=optimal", &format!("--path-time={bad}")];
        output_of(&mut program(&folder, &flags)).refused("--path-time");
    }
}

#[test]
fn degenerate_networks_have_paths() {
    let folder = Folder::new("degenerate");
    let vectors = (0..60).map(|at| format!("[v{at}]")).collect::<Vec<_>>().join(",");
    let networks = [
        (format!("{}->", ",".repeat(299)), "2", 299),
        (format!("{vectors}->[]"), "2", 59),
        (format!("{}->a", vec!["a"; 300].join(",")), "2", 299),
        (network(6, &complete(6)), "0", 5),
        (network(6, &complete(6)), "1", 5),
    ];
    for path in ["auto", "greedy", "anneal", "optimal"] {
        for (expression, size, steps) in &networks {
            let flags = ["--path", path, "--path-time", "0.2"];
            let report = explained(&folder, expression, size, &flags).succeeded().json();
            assert_eq!(report["path"].as_array().unwrap().len(), *steps, "{path}: {expression:.40}");
        }
    }
}

/// What `--path-out` writes is a path for `--path`, and gives the same slices without a memory limit.
#[test]
fn a_written_path_is_read() {
    let folder = Folder::new("path-out");
    let ring = network(40, &circulant(40, &[1, 7]));
    let flags = ["--memory-limit", "60kB", "--path-out", "path.json"];
    let written = explained(&folder, &ring, "2", &flags).succeeded().json();
    assert!(written["slices"].as_u64() > Some(1), "{written}");
    let file: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("path.json")).unwrap()).unwrap();
    assert_eq!((&file["path"], &file["expression"]), (&written["path"], &written["expression"]));
    let gflop = 2e-9 * file["multiply_adds"].as_f64().unwrap();
    assert!((gflop / written["path_search"]["gflop"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    let sliced = |flags: &[&str]| explained(&folder, &ring, "2", flags).succeeded().json();
    let text = file.to_string();
    for flags in [&["--path", "@path.json"][..], &["--path", &text], &["--path", "@path.json", "-n", "3"]] {
        let read = sliced(flags);
        assert_eq!(
            (&read["path"], &read["path_search"]["method"]),
            (&written["path"], &"explicit".into()),
            "{flags:?}"
        );
        assert_eq!(read["slices"], written["slices"], "{flags:?}");
    }
    let refused = |flags: &[&str]| output_of(&mut program(&folder, &[&["ab,bc,cd->ad", "-s2"], flags].concat()));
    refused(&["--path", "@none.json"]).refused("cannot read --path from none.json");
    refused(&["--path", "@path.json"]).refused("--path: step 1 of the path");
    refused(&["--path", "@path.json", "--path-out", "path.json"]).refused("are the same file");
    refused(&["--path-out", "-"]).refused("needs a file");
}

/// The names of the files in the cache and their number must not depend on ranks.
#[test]
fn a_cache_keeps_paths() {
    let folder = Folder::new("path-cache");
    let ring = network(30, &circulant(30, &[1, 5]));
    let flags = ["--path", "anneal", "--path-time", "0.05", "--path-cache", "new/paths"];
    let run = |size, flags: &[&str]| {
        let ended = explained(&folder, &ring, size, flags).succeeded();
        (ended.json(), ended.err)
    };
    let files = || {
        std::fs::read_dir(folder.path().join("new/paths"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let (first, _) = run("2", &flags);
    assert_eq!(first["path_search"]["cached"], false);
    let (again, _) = run("2", &[&flags[..], &["-n", "2"]].concat());
    assert_eq!((&again["path_search"]["cached"], &again["path"]), (&true.into(), &first["path"]));
    assert_eq!(again["path_search"]["method"], "anneal");
    let file = files().remove(0);
    std::fs::write(&file, "{}").unwrap();
    let (damaged, err) = run("2", &flags);
    assert_eq!(damaged["path_search"]["cached"], false);
    assert!(err.starts_with("warning: --path-cache: ") && err.contains("searching again"), "{err}");
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(run("2", &[&flags[..], &["-q"]].concat()).1, "");
    assert_eq!(run("2", &flags).0["path_search"]["cached"], true);
    assert_eq!(run("3", &flags).0["path_search"]["cached"], false);
    assert_eq!(files().len(), 2);
}
