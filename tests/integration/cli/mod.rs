//! Tests the output, the files and the exit codes of the program as a single process.

mod bound;
mod files;
mod fuzz;
mod memory_limits;
mod messages;
mod numbers;
mod placement;
pub mod probe;
mod range;
mod scale;
mod scaling;
mod search;
mod values;

use std::io::Write;
use std::process::Stdio;

use einsum_dist::kernel::{available, has_xsmm, widest};
use einsum_dist::local_plan::Isa;
use einsum_dist::plan::AlgorithmName;

use crate::command::{Folder, PRODUCT, REFUSED, RunOutput, TOO_LITTLE, files, in_parts, output_of, product, program};
use crate::timeline::arrows::arrows;

fn run(folder: &Folder, arguments: &[&str]) -> RunOutput {
    output_of(&mut program(folder, arguments))
}

#[test]
fn every_form_of_expression_runs_and_checks() {
    let folder = Folder::new("forms");
    for expression in [
        "mk,kn->mn",
        "bqhd,bkhd->bhqk",
        "ij,jk,kl",
        "...ij,...jk->...ik",
        "iij->j",
        "->",
        "[ij,jk->ik],kl->il",
        "[[a,b->ab],c->abc],abc->",
        "[[3,0]->[0,3]],[[3,2,4],[1,4,2]->[1,2,3]]->[0,1,2]",
        "[m0,c0,k0],[n0,c0,k0]->[m0,n0,c0]",
        "[ij->i],[ij->i]->i",
        "i,ij->",
    ] {
        for ranks in ["1", "2", "3"] {
            for dtype in ["f32", "c128"] {
                let size = if expression == "->" { "1" } else { "5" };
                let arguments = ["--check", "--json", "-t1", "-s", size, "-n", ranks, "--dtype", dtype, expression];
                let report = run(&folder, &arguments).succeeded().json();
                assert_eq!(report["check"]["ok"], true, "{expression}: {report}");
                assert!(report["check"]["checked"].as_u64() > Some(0));
            }
        }
    }
}

#[test]
fn the_summary() {
    let folder = Folder::new("summary");
    files(&folder);
    let text = run(&folder, &["mk,kn->mn", "a.npy", "b.npy", "-t", "1", "--check", "-o", "c.npy"]).succeeded().out;
    let steady: Vec<&str> =
        text.lines().filter(|line| !["time", "rate", "kernel"].iter().any(|name| line.starts_with(name))).collect();
    assert_eq!(
        steady,
        [
            "expression  mk,kn->mn",
            "extents     m=2 k=3 n=4",
            "type        float32",
            "ran on      1 rank, 1 worker",
            "steps       mk,kn->mn  local",
            "output      2 x 4, norm 1.615549e1",
            "check       ok: 8 elements, error 0.0e0, bound 3.0e-7",
            "written     c.npy",
        ]
    );
    assert!(text.contains(&format!("\nkernel      {}\n", widest().name())), "{text}");
    assert_eq!(folder.read::<f32>("c.npy"), [3.0, 3.0, 3.0, 3.0, 7.5, 7.5, 7.5, 7.5]);
    assert_eq!(run(&folder, &["mk,kn->mn", "a.npy", "b.npy", "-q"]).succeeded().out, "");
}

#[test]
fn nothing_but_an_expression_is_enough() {
    let report = run(&Folder::new("default"), &["mk,kn->mn", "--json", "--explain"]).succeeded().json();
    assert_eq!(report["dims"], serde_json::json!({"m": 1024, "k": 1024, "n": 1024}));
}

#[test]
fn sizes_and_sources_of_the_expression() {
    let folder = Folder::new("sizes");
    for (arguments, dims) in [
        (["mk,kn->mn", "-s", "8,k=5"], "m=8 k=5 n=8"),
        (["mk,kn->mn", "-s", "m=2,k=3,n=4"], "m=2 k=3 n=4"),
        (["[10,9],[9,2]->[10,2]", "--size", "3,4,5"], "10=5 9=4 2=3"),
    ] {
        let out = run(&folder, &arguments).succeeded().out;
        assert!(out.contains(&format!("extents     {dims}\n")), "{out}");
    }
    folder.write("e.txt", "\u{feff}mk,kn->mn\n".as_bytes());
    assert!(run(&folder, &["@e.txt", "-s2"]).succeeded().out.starts_with("expression  mk,kn->mn\n"));
    let mut child = program(&folder, &["-", "-s2"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"mk,kn->mn").unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success() && out.stdout.starts_with(b"expression  mk,kn->mn\n"));
}

#[test]
fn the_json_object_has_the_keys_of_its_schema() {
    let folder = Folder::new("json");
    let report =
        run(&folder, &["mk,kn->mn", "-s8", "-n2", "-t1", "--algorithm", "ring-k", "--json"]).succeeded().json();
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    assert_eq!(
        keys(&report),
        "check compile_seconds dims dtype expression gflops kernel memory_limit nodes objective output path path_search peak_bytes per_rank \
         plan_fingerprint plan_seconds ranks schema seconds slice_groups slices transport workers"
    );
    assert_eq!(
        keys(&report["nodes"][0]),
        "algorithm bytes_received expression fewest_bytes gflop grid kinds lower_bound_bytes op predicted_seconds seconds"
    );
    assert_eq!(
        keys(&report["per_rank"][1]),
        "bytes_by_link bytes_received cpus hidden_share idle_seconds node_name numa peak_bytes"
    );
    let rank = &report["per_rank"][1];
    let links = serde_json::json!({"same_node": rank["bytes_received"]["measured"], "other_nodes": 0});
    assert_eq!(rank["bytes_by_link"], links);
    assert_eq!(keys(&report["seconds"]), "max median min runs");
    assert_eq!(report["nodes"][0]["kinds"], serde_json::json!({"m": "m", "n": "n", "k": "k"}));
    let bytes = &report["nodes"][0]["bytes_received"];
    assert_eq!(bytes["planned"], bytes["measured"]);
    assert!(report["output"]["norm"].as_f64().unwrap() > 0.0);

    let plan = run(&folder, &["mk,kn->mn", "-s8", "-n2", "-t1", "--explain", "--json"]).succeeded().json();
    assert_eq!(keys(&plan), keys(&report));
    for measured in ["check", "compile_seconds", "gflops", "plan_seconds", "seconds"] {
        assert!(plan[measured].is_null(), "{measured}");
    }
    assert!(plan["output"]["norm"].is_null() && plan["nodes"][0]["bytes_received"]["measured"].is_null());
}

#[test]
fn explaining_touches_nothing_and_takes_any_number_of_ranks() {
    let folder = Folder::new("explain");
    let out = run(&folder, &["mk,kn->mn", "--explain", "-n", "7", "-t1", "-o", "c.npy"]).succeeded().out;
    assert!(out.starts_with("plan      mk,kn->mn\n"), "{out}");
    assert!(
        out.contains("\nverified: every element of the result, every transfer, and the memory of 7 ranks\n"),
        "{out}"
    );
    let out = run(&folder, &["mk,kn->mn", "--explain", "-n", "600", "-s600", "-t1"]).succeeded().out;
    assert!(out.contains("\nverified: by symmetry classes: one rank of each of "), "{out}");
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn what_is_played_can_be_drawn() {
    let folder = Folder::new("timeline");
    let simulate_to = |file: &str| {
        let product = ["mk,kn->mn", "-s", "600", "-n5", "-t1", "--algorithm", "ring-mn"];
        run(&folder, &[&product[..], &["--simulate", "--timeline", file]].concat())
    };
    assert!(simulate_to("t.svg").succeeded().out.contains("\nsimulated "));
    let svg = std::fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(
        svg.starts_with("<svg")
            && svg.contains("mk,kn-&gt;mn on 5 ranks: ")
            && svg.contains(" simulated\n")
            && svg.contains(">\nrank 4\n</text>"),
        "{svg}"
    );
    let turns = ["mk,kn->mn", "-s600", "-n5", "-t1", "--algorithm", "ring-mn", "--simulate", "--no-overlap"];
    assert!(run(&folder, &turns).succeeded().out.contains(", 0 % of the transfer time hidden\n"));
    simulate_to("none/t.svg").refused("none/t.svg: the directory none does not exist");
    run(&folder, &["mk,kn->mn", "--explain", "--timeline", "u.svg"]).refused("--simulate");
    let thousands = ["mk,kn->mn", "-s2000", "-n2000", "--simulate", "--timeline", "u.svg", "--trace", "u.json"];
    assert!(run(&folder, &thousands).succeeded().out.contains(" of 2000 ranks, workers busy"));
    assert!(std::fs::read_to_string(folder.path().join("u.svg")).unwrap().contains(" of 2000 ranks; "));
    assert_eq!(folder.files(), ["t.svg", "u.json", "u.svg"]);
    run(&folder, &["mk,kn->mn", "-s600", "-n5", "-t1", "--simulate", "--json", "--trace", "t.json"]).succeeded();
    arrows(&std::fs::read_to_string(folder.path().join("t.json")).unwrap(), 5, 0.0);
}

#[test]
fn runs_are_traced_and_drawn() {
    let folder = Folder::new("traced");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let shown = ["-t2", "--trace", "t.json", "--timeline", "t.svg"];
    let ring = ["mk,kn->mn", "-s60", "-n4", "--algorithm", "ring-mn", "--repeat", "2", "--warmup", "1"];
    let out = run(&folder, &[&ring[..], &shown].concat()).succeeded().out;
    assert!(arrows(&read("t.json"), 4, 0.0) >= 12);
    let svg = read("t.svg");
    assert!(svg.contains("mk,kn-&gt;mn on 4 ranks: ") && svg.contains(" predicted") && svg.contains("rank 3"), "{svg}");
    for line in
        ["\ntrace       t.json\n", "\ntimeline    t.svg\n", " between nodes, total over all ranks\n", "\nidle        "]
    {
        assert!(out.contains(line), "{line}: {out}");
    }
    assert!(out.contains("\nsteps       mk,kn->mn  ring-mn, cut along m  ") && out.contains("s predicted\n"), "{out}");
    assert!(out.contains("\nnote        time and rate are medians "), "{out}");
    // Predicted times are printed only for runs with overlap.
    let out = run(&folder, &[&ring[..5], &shown, &["--no-overlap"]].concat()).succeeded().out;
    assert!(!out.contains("predicted") && !read("t.svg").contains("predicted"), "{out}");
    assert!(
        out.contains("\noverlap     0 % of the transfer time hidden (simulated: 0 %)\n") && !out.contains("\nnote "),
        "{out}"
    );
    // Traces a run on a single rank, and a run that writes its result in parts.
    run(&folder, &[&["iij->j", "-s9", "-q"][..], &shown].concat()).succeeded();
    assert_eq!((arrows(&read("t.json"), 1, 0.0), read("t.svg").contains("rank 0")), (0, true));
    product(&folder);
    let parts = [&PRODUCT[..], &["--memory-limit", TOO_LITTLE, "--json"], &shown].concat();
    let report = run(&folder, &parts).succeeded().json();
    assert!(read("t.svg").contains(&format!(" on 1 rank, {} slices: ", report["slices"])), "{}", read("t.svg"));
    assert_eq!(folder.files(), ["left.npy", "right.npy", "t.json", "t.svg"]);
}

#[test]
fn what_cannot_be_traced_is_found_before_the_run() {
    let folder = Folder::new("untraced");
    for (flag, path, says) in [
        ("--trace", "none/t.json", "none/t.json: the directory none does not exist"),
        ("--timeline", "none/t.svg", "none/t.svg: the directory none does not exist"),
        ("--trace", ".", "is a directory"),
    ] {
        // The product is expensive, so an error that was found only after the run would take a minute.
        run(&folder, &["mk,kn->mn", "-s3000", "--kernel", "reference", flag, path]).refused(says);
    }
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn files_are_promoted_and_ranks_agree() {
    let folder = Folder::new("files");
    files(&folder);
    run(&folder, &["i,j->ij", "-s", "i=3,j=4", "--dtype", "c64", "-o", "z.npy"]).succeeded();
    let mixed =
        run(&folder, &["mk,kn->mn", "a.npy", "z.npy", "--check", "--json", "-n", "2", "-o", "m.npy"]).succeeded();
    assert_eq!(mixed.json()["dtype"], "complex64");
    assert_eq!(mixed.json()["check"]["ok"], true);
    run(&folder, &["mk,kn->mn", "a.npy", "b.npy", "-o", "one.npy"]).succeeded();
    run(&folder, &["mk,kn->mn", "a.npy", "b.npy", "-n", "2", "--algorithm", "ring-k", "-o", "two.npy"]).succeeded();
    assert_eq!(folder.read::<f32>("one.npy"), folder.read::<f32>("two.npy"));
    let onto =
        ["mk,kn->mn", "a.npy", "b.npy", "--accumulate", "one.npy", "--repeat", "3", "--check", "-o", "twice.npy"];
    run(&folder, &onto).succeeded();
    let twice: Vec<f32> = folder.read::<f32>("one.npy").into_iter().map(|x| 2.0 * x).collect();
    assert_eq!(folder.read::<f32>("twice.npy"), twice);
}

#[test]
fn the_ways_to_run() {
    let folder = Folder::new("ways");
    for flags in [
        &["--no-overlap"][..],
        &["--transport", "throttled:100MB"],
        &["--transport", "shared", "--warmup", "2"],
        &["--cut", "m", "--algorithm", "ring-mn"],
        &["--cut", "k,n", "--algorithm", "ring-k", "--memory-limit", "1MiB"],
        &["--forbid-redistribution", "--verbose"],
    ] {
        let arguments = [&["mk,kn->mn", "-s40", "-n3", "-t1", "--check"], flags].concat();
        assert!(run(&folder, &arguments).succeeded().out.contains("\ncheck       ok: 1600 elements"));
    }
}

#[test]
fn a_result_that_does_not_fit_leaves_in_parts() {
    let folder = Folder::new("parts");
    product(&folder);
    run(&folder, &[&PRODUCT[..], &["-t1", "-o", "whole.npy"]].concat()).succeeded();
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let onto = [&PRODUCT[..], &["-t1", "--accumulate", "whole.npy", "-o", "twice.npy"]].concat();
    let norm = run(&folder, &[&onto[..], &["--json"]].concat()).succeeded().json()["output"]["norm"].clone();
    for ranks in ["1", "2", "3"] {
        let limited = [&PRODUCT[..], &["-t1", "-n", ranks, "--memory-limit", TOO_LITTLE, "--check", "--json"]].concat();
        in_parts(&run(&folder, &[&limited[..], &["-o", "parts.npy"]].concat()).succeeded().json());
        assert!(bytes("parts.npy") == bytes("whole.npy"), "{ranks} ranks");
        // Every run accumulates onto the original contents of the file, and only the last run replaces the file.
        folder.write("onto.npy", &bytes("whole.npy"));
        let flags = ["--accumulate", "onto.npy", "-o", "onto.npy", "--warmup", "1", "--repeat", "2"];
        let report = run(&folder, &[&limited[..], &flags].concat()).succeeded().json();
        in_parts(&report);
        assert_eq!((&report["output"]["norm"], report["seconds"]["runs"].as_u64()), (&norm, Some(2)));
        assert!(bytes("onto.npy") == bytes("twice.npy"), "{ranks} ranks");
    }
    let limited = [&PRODUCT[..], &["-t1", "--memory-limit", TOO_LITTLE]].concat();
    let explained = run(&folder, &[&limited[..], &["--explain"]].concat()).succeeded().out;
    let leaves = explained.lines().find(|line| line.starts_with("result    computed in ")).unwrap();
    let parts: usize = leaves.split(' ').find_map(|word| word.parse().ok()).unwrap();
    let text = run(&folder, &limited).succeeded().out;
    let output = text.lines().find(|line| line.starts_with("output      120 x 160, norm ")).unwrap();
    assert!(output.ends_with(&format!(", computed in {parts} parts")), "{output}");
    let files = ["left.npy", "onto.npy", "parts.npy", "right.npy", "twice.npy", "whole.npy"];
    assert_eq!(folder.files(), files);
    let little = [&PRODUCT[..], &["-t1", "--memory-limit", "11"]].concat();
    let little = run(&folder, &little);
    little.refused("rank 0 needs 12 bytes, 1 more than the memory limit of 11, sliced along `");
    // The order depends on prices, and so on the processor.
    let (_, sliced) = little.err.split_once("sliced along ").unwrap();
    let mut labels: Vec<&str> = sliced.split_once(" as it is, and ").unwrap().0.split(", ").collect();
    labels.sort_unstable();
    assert_eq!(labels, ["`k`", "`m`", "`n`"]);
}

#[test]
fn every_kernel_runs_and_is_named_or_is_refused() {
    let folder = Folder::new("kernels");
    let isa = |name: &str| Isa::ALL.into_iter().find(|isa| isa.name() == name);
    let mut fingerprints = Vec::new();
    // The first contraction is a batch of small products, the second is not.
    let auto = format!("{}{}", widest().name(), if has_xsmm() { "+xsmm" } else { "" });
    for (kernel, named) in [
        ("auto", Some(auto.as_str())),
        ("xsmm", has_xsmm().then_some("xsmm")),
        ("portable", Some(widest().name())),
        ("avx2", isa("avx2").filter(|&isa| available(isa)).map(Isa::name)),
        ("avx512", isa("avx512").filter(|&isa| available(isa)).map(Isa::name)),
        ("neon", isa("neon").filter(|&isa| available(isa)).map(Isa::name)),
        ("reference", Some("reference")),
    ] {
        for ranks in ["1", "2"] {
            let expression = "[bmk,bkn->bmn],bn->m";
            let arguments =
                [expression, "-s9", "-t2", "-n", ranks, "--kernel", kernel, "--json", "--check", "--repeat=2"];
            let ended = run(&folder, &arguments);
            let Some(named) = named else {
                assert_eq!(ended.code, Some(2), "{}", ended.err);
                let refused = run(&folder, &[expression, "-s9", "--kernel", kernel]);
                refused.refused(&format!("error: kernel {kernel} is not available: "));
                assert_eq!(ended.json()["error"]["kind"], "kernel");
                continue;
            };
            let report = ended.succeeded().json();
            assert_eq!(report["kernel"], named);
            assert_eq!(report["check"]["ok"], true, "{kernel}");
            fingerprints.push(report["plan_fingerprint"].as_str().unwrap().to_owned());
            let explained = run(&folder, &[&arguments[..], &["--explain"]].concat()).succeeded().json();
            assert_eq!(explained["kernel"], named);
        }
    }
    let count = fingerprints.len();
    fingerprints.sort();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), count, "the choice is part of the plan");
    let text = run(&folder, &["mk,kn->mn", "-s9", "-t1", "--kernel", "reference", "--explain"]).succeeded().out;
    assert!(text.contains("\nfor       float32, 1 rank, 1 worker, kernel reference\n"), "{text}");
    assert!(text.contains("\nkernel    reference on this machine\n"), "{text}");
}

#[test]
fn a_kernel_that_is_not_available() {
    let folder = Folder::new("no-kernel");
    let own: Vec<&str> = ["avx2", "avx512", "neon"]
        .into_iter()
        .filter(|name| Isa::ALL.into_iter().any(|isa| isa.name() == *name && available(isa)))
        .collect();
    let available = [&["portable"], &own[..], &["reference"]].concat().join(", ");
    if cfg!(target_arch = "x86_64") {
        let ended = run(&folder, &["mk,kn->mn", "-s4", "--dtype", "c64", "--kernel", "neon"]);
        let says = "NEON is of aarch64 processors, this one is x86_64";
        let wanted = format!("error: kernel neon is not available: {says} (available: auto, {available})\n");
        assert_eq!((ended.code, ended.out.as_str(), ended.err), (Some(2), "", wanted));
    }
    let ended = run(&folder, &["mk,kn->mn", "-s4", "--dtype", "c64", "--kernel", "xsmm"]);
    let says = if cfg!(feature = "libxsmm") {
        "LIBXSMM has no complex kernels, as for complex64"
    } else {
        "this build has no LIBXSMM (build with `--features libxsmm`)"
    };
    let wanted = format!("error: kernel xsmm is not available: {says} (available: auto, {available})\n");
    assert_eq!((ended.code, ended.out.as_str(), ended.err), (Some(2), "", wanted));
}

#[test]
fn bad_input_is_refused_with_one_message() {
    let folder = Folder::new("refused");
    files(&folder);
    let before = folder.files();
    for (arguments, says) in REFUSED {
        // Giving `-o` twice would be a different error.
        let output = if arguments.contains(&"-o") { &[][..] } else { &["-o", "new.npy"] };
        run(&folder, &[arguments, output].concat()).refused(says);
        let json = run(&folder, &[arguments, &["--json"][..]].concat());
        assert_eq!(json.code, Some(2));
        assert_eq!(json.json()["schema"], 1);
        assert!(json.json()["error"]["message"].as_str().unwrap().contains(says), "{}", json.out);
        assert!(json.json()["error"]["kind"].is_string());
    }
    run(&folder, &["mk,kn->mn", "-s2", "-n5", "--strict-ranks"])
        .refused("5 ranks are more than the 4 elements of the largest tensor");
    run(&folder, &["mk,kn->mn", "--ranks", "0"]).refused("'--ranks <N>'");
    for transport in ["message", "rma"] {
        run(&folder, &["mk,kn->mn", "--transport", transport]).refused("is for ranks that mpirun started");
    }
    assert_eq!(folder.files(), before);
}

#[test]
fn carets_show_the_place() {
    let folder = Folder::new("carets");
    files(&folder);
    assert_eq!(
        run(&folder, &["mk,kn->mn", "a.npy", "a.npy"]).err,
        "\
error: label `k` has extent 3 in operand 0, but 2 in operand 1
  |
1 | mk,kn->mn
  |  - ^ 2 in operand 1
  |  |
  |  3 in operand 0
"
    );
}

#[test]
fn a_panicking_rank_ends_the_run() {
    let folder = Folder::new("panic");
    let host = einsum_dist::api::host::name();
    for (place, says) in [
        ("worker@1", format!("error: rank 1 on {host}, task 0 (mk,kn->mn): panicked")),
        ("communication@0", format!("error: rank 0 on {host}, communication")),
    ] {
        let arguments = ["mk,kn->mn", "-s8", "-n2", "-t1", "--algorithm", "ring-k", "-o", "c.npy"];
        let ended = output_of(program(&folder, &arguments).env("EINSUM_DIST_INJECT", place));
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
        assert!(ended.err.contains(&says), "{}", ended.err);
        assert_eq!(folder.files(), [""; 0]);
    }
}

#[test]
#[cfg(not(feature = "mpi"))]
fn without_mpi_one_process_speaks_for_all_of_mpirun() {
    let folder = Folder::new("mpirun");
    let under = |rank: &str| {
        let arguments = ["mk,kn->mn", "-s4", "-o", "c.npy"];
        output_of(program(&folder, &arguments).env("PMI_RANK", rank).env("PMI_SIZE", "2"))
    };
    under("0").refused("started by MPICH's mpirun, but built without MPI");
    let other = under("1");
    assert_eq!((other.code, other.out.as_str(), other.err.as_str()), (Some(2), "", ""));
    assert_eq!(folder.files(), [""; 0]);
    let version = output_of(program(&folder, &["--version"]).env("PMI_RANK", "0").env("PMI_SIZE", "2")).succeeded();
    assert_eq!(version.out, format!("einsum-dist {}\n", env!("CARGO_PKG_VERSION")));
}

/// The result must not depend on whether warnings and errors can be written.
#[test]
fn standard_error_may_be_full_and_standard_output_may_not() {
    let folder = Folder::new("full");
    files(&folder);
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let warns = ["mk,kn->mn", "a.npy", "b.npy", "--dtype", "f64", "-v", "-t1", "-o", "c.npy"];
    assert_eq!(program(&folder, &warns).stdout(Stdio::null()).stderr(full()).status().unwrap().code(), Some(0));
    assert_eq!(folder.read::<f32>("c.npy").len(), 8);
    for (arguments, code) in
        [(&["mk,kn->mx"][..], 2), (&["mk,kn->mn", "--nonsense"], 2), (&["mk,kn->mn", "none.npy"], 2)]
    {
        assert_eq!(program(&folder, arguments).stderr(full()).status().unwrap().code(), Some(code), "{arguments:?}");
    }
    let panics = ["mk,kn->mn", "-s8", "-n2", "-t1", "--algorithm", "ring-k"];
    let ended = program(&folder, &panics).env("EINSUM_DIST_INJECT", "worker@1").stderr(full()).status().unwrap();
    assert_eq!(ended.code(), Some(1));
    for arguments in [&["mk,kn->mn", "-s4", "-t1"][..], &["mk,kn->mn", "-s4", "--explain", "--json"], &["--help"]] {
        let ended = program(&folder, arguments).stdout(full()).output().unwrap();
        let printed = String::from_utf8(ended.stderr).unwrap();
        let expected = "error: cannot write to standard output: No space left on device\n";
        assert_eq!((ended.status.code(), printed.as_str()), (Some(1), expected), "{arguments:?}");
    }
}

/// The program reads texts only up to a limit, so endless files are errors.
#[test]
fn texts_that_are_read_have_a_limit() {
    let folder = Folder::new("endless");
    run(&folder, &["@/dev/zero"]).refused("cannot read the expression from /dev/zero: it is longer than 64 MiB");
    run(&folder, &["mk,kn->mn", "--explain", "--machine", "/dev/zero"])
        .refused("--machine /dev/zero: it is longer than 1 MiB");
    run(&folder, &["@."]).refused("cannot read the expression from .: Is a directory\n");
    run(&folder, &["mk,kn->mn", "--explain", "--machine", "none.toml"])
        .refused("--machine none.toml: No such file or directory\n");
}

#[test]
fn help_and_completions() {
    let folder = Folder::new("help");
    let help = run(&folder, &["--help"]).succeeded().out;
    assert!(help.contains("--memory-limit <BYTES>"));
    let refused = run(&folder, &["mk,kn->mn", "--algorithm", "magic"]).err;
    for algorithm in AlgorithmName::ALL.map(AlgorithmName::name) {
        assert!(help.contains(&format!("\n{algorithm} ")) && refused.contains(algorithm), "{algorithm}");
    }
    assert!(run(&folder, &["--completions", "bash"]).succeeded().out.contains("einsum-dist"));
    let page = run(&folder, &["--man-page"]).succeeded().out;
    assert!(page.contains(".TH einsum-dist 1") && page.contains("memory\\-limit"), "{page}");
}

#[test]
fn a_summary_of_many_steps_is_short() {
    let folder = Folder::new("many");
    let names: Vec<String> = (0..200).map(|at| format!("[a{at},a{}]", at + 1)).collect();
    let text = format!("{}->[a0,a200]", names.join(","));
    let ran = run(&folder, &[&text, "-s2,a100=50", "-t1", "--check"]).succeeded().out;
    let steps: Vec<&str> = ran.lines().skip_while(|line| !line.starts_with("steps")).collect();
    assert!(ran.lines().count() < 40 && ran.lines().all(|line| line.chars().count() < 500), "{ran}");
    assert_eq!(steps[24], "            and 175 smaller steps (--explain and --json have all)");
    // The summary must include the steps with the label a100, which have the most operations.
    assert!(steps[..24].iter().any(|step| step.contains("a100")), "{ran}");
}

#[test]
fn a_step_of_many_labels_is_shortened() {
    let folder = Folder::new("long");
    let labels = (0..400).map(|at| format!("a{at}")).collect::<Vec<_>>().join(",");
    let ran = run(&folder, &[&format!("[{labels}],[k]->[{labels},k]"), "-s1", "-t1"]).succeeded().out;
    assert!(ran.contains("steps") && ran.lines().all(|line| line.chars().count() < 500), "{ran}");
}

/// Dimensions that a forced algorithm needs in full must not be sliced; other dimensions may be sliced.
#[test]
fn a_forced_algorithm_under_a_limit() {
    let folder = Folder::new("forced");
    let forced = ["[aj,jbc->abc],cd->abd", "-sa=8,j=4,b=64,c=64,d=4", "-n2", "-t1", "--algorithm=ring-mn", "--check"];
    let ran = run(&folder, &[&forced[..], &["--memory-limit=160kB"]].concat()).succeeded().out;
    assert!(ran.contains("check       ok"), "{ran}");
}

#[test]
fn numbers_that_cannot_be_meant() {
    let folder = Folder::new("numbers");
    for (flag, says) in [
        ("--warmup=18446744073709551615", "'--warmup <N>': number too large"),
        ("--repeat=18446744073709551615", "'--repeat <N>': number too large"),
        ("--workers=100000", "--workers 100000 are more than the 4096 threads that a rank may have"),
    ] {
        let ran = run(&folder, &["mk,kn->mn", "-s4", flag]);
        assert!(ran.code == Some(2) && ran.err.contains(says), "{flag}: {:?} {}", ran.code, ran.err);
    }
    let ran = run(&folder, &["@"]);
    assert!(ran.err.contains("`@` needs the name of a file"), "{}", ran.err);
}

/// Runs the commands in data/README.md as they are printed there.
#[test]
fn the_commands_of_the_data_work() {
    let folder = Folder::new("data");
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../data");
    std::os::unix::fs::symlink(data, folder.path().join("data")).unwrap();
    let text = std::fs::read_to_string(format!("{data}/README.md")).unwrap();
    let commands = text.lines().filter(|line| line.starts_with("einsum-dist ")).collect::<Vec<_>>();
    assert!(commands.len() >= 6);
    let bin = std::path::Path::new(crate::command::executable()).parent().unwrap().display();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    for line in commands {
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", line]).env("PATH", &path).current_dir(folder.path());
        let ran = output_of(shell).succeeded();
        assert!(line.contains("--check") == ran.out.contains("check       ok: "), "{line}\n{}", ran.out);
    }
}
