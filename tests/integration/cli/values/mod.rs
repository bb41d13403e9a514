//! Tests that in-process ranks without work are idle, and that the program prints their number.

use einsum_dist::plan::AlgorithmName;

use crate::cases::{TINY_CASES, idle};
use crate::command::{Folder, RunOutput, output_of, program};

fn run(folder: &Folder, arguments: &[&[&str]]) -> RunOutput {
    output_of(&mut program(folder, &arguments.concat()))
}

/// The output file must be the same on several ranks as on one rank.
#[test]
fn ranks_without_work_are_idle() {
    let folder = Folder::new("values-idle");
    for expression in TINY_CASES {
        let dtype: &[&str] = &["-t1", "--dtype", "c64"];
        run(&folder, &[expression, dtype, &["-q", "-o", "one.npy"]]).succeeded();
        let one = std::fs::read(folder.path().join("one.npy")).unwrap();
        for ranks in [2, 3, 4, 7] {
            let several = format!("-n{ranks}");
            let flags = [several.as_str(), "--check", "--json", "-o", "several.npy"];
            let idle = idle(&run(&folder, &[expression, dtype, &flags]), ranks);
            assert!(idle > 0 || !["->", "a,->a", "i,i->"].contains(&expression[0]), "{expression:?} on {ranks} ranks");
            let several = std::fs::read(folder.path().join("several.npy")).unwrap();
            assert!(one == several, "{expression:?} on {ranks} ranks");
        }
    }
}

/// All flags must work even if some ranks are idle.
#[test]
fn flags_where_ranks_are_idle() {
    let folder = Folder::new("values-flags");
    folder.npy("onto.npy", &[3], &[1.0, 2.0, 3.0]);
    folder.npy("a.npy", &[3], &[4.0, 5.0, 6.0]);
    folder.npy("two.npy", &[], &[2.0]);
    folder.npy("none.npy", &[0, 3], &[]);
    let scaled = ["a,->a", "a.npy", "two.npy", "-n4", "-t1"];
    let checked = ["--check", "--json", "-o", "out.npy"];
    for flags in [
        &["--accumulate", "onto.npy"][..],
        &["--trace", "t.json", "--timeline", "t.svg"],
        &["--memory-limit", "1kB"],
        &["--transport", "throttled:1e9"],
        &["--no-overlap", "--repeat", "3", "--warmup", "1"],
        &["--kernel", "reference"],
        &["--algorithm", "local"],
        &["--algorithm", "slicing"],
        &["--distribution", "one; one; one"],
        &["--distribution", "a:2; one; a:2"],
    ] {
        let idle = idle(&run(&folder, &[&scaled, flags, &checked]), 4);
        // With `--algorithm slicing`, every rank stores a replica of the scalar, so no rank needs to be idle.
        assert!(idle > 0 || flags.contains(&"slicing"), "{flags:?}");
        let onto = if flags.contains(&"--accumulate") { [1.0, 2.0, 3.0] } else { [0.0; 3] };
        assert_eq!(folder.read::<f32>("out.npy"), [8.0 + onto[0], 10.0 + onto[1], 12.0 + onto[2]], "{flags:?}");
    }
    // Algorithms that cut a dimension of extent 1 leave most ranks without indices.
    for algorithm in AlgorithmName::ALL.map(AlgorithmName::name) {
        let expression: &[&str] = if algorithm == "c" { &["b,b->b", "-s2"] } else { &["mk,kn->mn", "-s1"] };
        let report =
            run(&folder, &[expression, &["-n4", "-t1", "--algorithm", algorithm], &checked]).succeeded().json();
        assert_eq!(report["check"]["ok"], true, "{report}");
    }
    let empty = ["ij,j->i", "none.npy", "a.npy", "-n4", "-t1"];
    assert_eq!(idle(&run(&folder, &[&empty, &checked]), 4), 3);
    assert!(folder.read::<f32>("out.npy").is_empty());
    assert_eq!(run(&folder, &[&scaled, &["-q"]]).succeeded().err, "");
    for flag in ["--explain", "--simulate"] {
        let explained = run(&folder, &[&scaled, &[flag]]).succeeded();
        assert!(
            explained.out.contains("\nidle      3 of 4 ranks have no task and hold no block\n"),
            "{}",
            explained.out
        );
        assert_eq!(explained.err, "");
    }
    // This product has enough work for all ranks.
    let busy =
        run(&folder, &[&["mk,kn->mn", "-s40", "-n4", "-t1", "--algorithm", "ring-mn", "--strict-ranks"]]).succeeded();
    assert_eq!(busy.err, "");
}

#[test]
fn strict_ranks_have_work() {
    let folder = Folder::new("values-strict");
    for (arguments, says) in [
        (
            &["mk,kn->mn", "-s2", "-n5"][..],
            "5 ranks are more than the 4 elements of the largest tensor: 4 have no task",
        ),
        (&["->", "-s1", "-n2"], "2 ranks are more than the 1 element of the largest tensor: 1 has no task"),
        (
            &["mk,kn->mn", "-s9", "-n3", "--algorithm", "local"],
            "3 ranks are more than this plan shares its work among: 2",
        ),
        (&["mk,kn->mn", "-s9", "-n3", "--algorithm", "local", "--explain"], "3 ranks are more than this plan"),
    ] {
        let flags: &[&str] = &["--strict-ranks", "-o", "out.npy"];
        run(&folder, &[arguments, flags]).refused(says);
        let json = run(&folder, &[arguments, flags, &["--json"]]);
        assert_eq!((json.code, &json.json()["error"]["kind"]), (Some(2), &"usage".into()));
        run(&folder, &[arguments, &["-q"]]).succeeded();
    }
    assert_eq!(folder.files(), [""; 0]);
}
