//! Tests `--scaling`, `--weak`, `--csv` and `--noise`. The table and the JSON object of a small product are compared with
//! `scaling.golden`, which `UPDATE_GOLDEN=1 cargo test scaling` rewrites.

use serde_json::Value;

use crate::command::{Folder, RunOutput, output_of, program};

fn run(folder: &Folder, arguments: &[&str]) -> RunOutput {
    output_of(&mut program(folder, arguments))
}

/// A product that is the same on every processor: with the reference kernel, times depend on default rates only.
const SMALL: [&str; 5] = ["mk,kn->mn", "-sm=60,n=70,k=83", "-t1", "--kernel", "reference"];

fn small(folder: &Folder, arguments: &[&str]) -> RunOutput {
    run(folder, &[&SMALL[..], arguments].concat())
}

fn rows(ended: &RunOutput) -> Vec<Value> {
    ended.json()["scaling"].as_array().unwrap().clone()
}

#[test]
fn a_small_one_as_text() {
    let folder = Folder::new("scaling");
    let table = small(&folder, &["--scaling", "1..6"]).succeeded().out;
    let object = small(&folder, &["--scaling", "1,3", "--json", "--noise", "0.5,7"]).succeeded().json();
    let failed = small(&folder, &["--scaling", "4,2,3", "--algorithm", "cannon"]).succeeded().out;
    let weak = small(&folder, &["--scaling", "1,8", "--weak", "m,n, k"]).succeeded().out;
    let actual = format!("{table}\n{}\n\n{failed}\n{weak}", serde_json::to_string_pretty(&object).unwrap());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/integration/cli/scaling.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &actual).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "scaling.golden, line {}; UPDATE_GOLDEN=1 rewrites it", number + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count());
    assert_eq!(folder.files(), [""; 0]);
}

/// A row must have the numbers that `--simulate` prints for the same number of ranks.
#[test]
fn rows_are_single_simulations() {
    let folder = Folder::new("rows");
    for (expression, sizes, more) in [
        ("mk,kn->mn", "600", &[][..]),
        ("[ij,jk->ik],kl->il", "i=130,j=70,k=90,l=33", &["--no-overlap"]),
        ("iij->j", "9", &[]),
        ("ab,bc,cd,de->ae", "24", &["--noise", "0.3,5"]),
        ("->", "1", &[]),
        ("mk,kn->mn", "m=0,n=5,k=4", &[]),
        ("mk,kn->mn", "m=1,n=1,k=1", &[]),
    ] {
        let given = [&[expression, "-s", sizes, "-t1", "--json"], more].concat();
        let ended = run(&folder, &[&given[..], &["--scaling", "1..5"]].concat()).succeeded();
        let rows = rows(&ended);
        assert_eq!(rows.iter().map(|row| row["ranks"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 4, 5]);
        for row in rows {
            let ranks = row["ranks"].to_string();
            // A machine of default rates, because those of this machine would be measured.
            folder.write("m.toml", b"workers = 1\n");
            let one = [&given[..], &["--simulate", "-n", &ranks, "--machine", "m.toml"]].concat();
            let one = run(&folder, &one).succeeded().json();
            for key in ["plan_fingerprint", "nodes", "path", "dims", "peak_bytes", "slices", "memory_limit"] {
                assert_eq!(row[key], one[key], "{expression} on {ranks}: {key}");
            }
            let busiest = one["per_rank"].as_array().unwrap().iter();
            let busiest = busiest.map(|rank| rank["bytes_received"]["planned"].as_u64().unwrap()).max();
            assert_eq!(row["bytes_received"]["planned"].as_u64(), busiest, "{expression} on {ranks}");
        }
    }
}

#[test]
fn numbers_without_a_plan_have_a_row() {
    let folder = Folder::new("without");
    let given = ["mk,kn->mn", "-s512", "-t1", "--scaling", "2..9,12", "--algorithm", "cannon"];
    let table = run(&folder, &given).succeeded().out;
    let ended = run(&folder, &[&given[..], &["--json"]].concat()).succeeded();
    let rows = rows(&ended);
    let fits = |row: &Value| row["error"].is_null();
    assert_eq!(rows.iter().map(fits).collect::<Vec<_>>(), [false, true, false, true, false], "{rows:?}");
    for (row, line) in rows.iter().zip(table.lines().skip_while(|line| !line.starts_with("ranks")).skip(1)) {
        if fits(row) {
            let efficiency = row["efficiency"].as_f64().unwrap();
            assert!(efficiency > 0.0 && line.contains(&format!("{:.1} %", 100.0 * efficiency)), "{line}");
        } else {
            assert!(line.contains(row["error"]["message"].as_str().unwrap()), "{line}");
        }
    }
    // Without any plan, the first error ends the run.
    run(&folder, &["mk,kn->mn", "-s8", "--scaling", "2,4", "--algorithm", "c"])
        .refused("it needs a dimension of kind c");
}

#[test]
fn extents_grow_in_weak_scaling() {
    let folder = Folder::new("weak");
    let given = |weak: &str, scaling: &str| {
        let given = ["...mk,kn->...mn", "-sm=30,n=20,k=10", "-t1", "--json", "--weak", weak, "--scaling", scaling];
        rows(&run(&folder, &given).succeeded())
    };
    let extents = |row: &Value| ["m", "n", "k"].map(|label| row["dims"][label].as_u64().unwrap());
    let one = given("k", "3,1,7");
    assert_eq!(one.iter().map(extents).collect::<Vec<_>>(), [[30, 20, 10], [30, 20, 30], [30, 20, 70]]);
    // Operations per rank remain the same.
    let of_rank = |row: &Value| row["gflop"].as_f64().unwrap() / row["ranks"].as_f64().unwrap();
    assert!(one.iter().all(|row| (of_rank(row) / of_rank(&one[0]) - 1.0).abs() < 1e-12));
    let all = given("m,n,k", "2,16,27");
    assert_eq!(all.iter().map(extents).collect::<Vec<_>>(), [[30, 20, 10], [60, 40, 20], [71, 48, 24]]);
    assert_eq!(all[0]["efficiency"], 1.0);
}

#[test]
fn noise_is_deterministic_and_never_faster() {
    let folder = Folder::new("noise");
    let seconds = |noise: &[&str]| -> Vec<f64> {
        // Delays can avoid interference.
        std::fs::write(folder.path().join("m.toml"), "interference = 0").unwrap();
        let given = ["mk,kn->mn", "-s1000", "--machine", "m.toml", "--json", "--scaling", "1,6,64,2000"];
        let rows = rows(&run(&folder, &[&given[..], noise].concat()).succeeded());
        rows.iter().map(|row| row["simulated_seconds"].as_f64().unwrap()).collect()
    };
    let [none, zero, one, again, other, more] =
        [&[][..], &["0"], &["0.2"], &["0.2,0"], &["0.2,18446744073709551615"], &["0.4"]].map(|noise| {
            let flag = noise.iter().flat_map(|noise| ["--noise", noise]).collect::<Vec<_>>();
            seconds(&flag)
        });
    assert!(none == zero && one == again && one != other, "{one:?} {other:?}");
    for at in 0..none.len() {
        assert!(none[at] < one[at] && none[at] < other[at] && one[at] < more[at], "{none:?} {one:?} {more:?}");
    }
    let simulated = ["mk,kn->mn", "-s100", "-n3", "-t1", "--simulate", "--noise", "0.1"];
    assert!(run(&folder, &simulated).succeeded().out.contains("\nsimulated "));
}

#[test]
fn curves_and_csv_are_written() {
    let folder = Folder::new("curves");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let files = ["--timeline", "t.svg", "--csv", "t.csv", "--noise", "0.1"];
    let product = ["mk,kn->mn", "-s2000", "-t1", "--algorithm", "grid", "--scaling", "1..64"];
    run(&folder, &[&product[..], &files].concat()).succeeded();
    let svg = read("t.svg");
    for text in
        ["mk,kn-&gt;mn, simulated, with noise of mean 0.1", "lower bound", "simulated time", "\n64\n", " MB\n", " ms\n"]
    {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert!(svg.starts_with("<svg") && svg.matches("<circle").count() == 7 + 6 && svg.len() < 20_000);
    let csv = read("t.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 8);
    assert!(lines[0].starts_with("ranks,simulated_seconds,gflops,efficiency,received_bytes,lower_bound_bytes,"));
    assert!(lines[1].starts_with("1,") && lines[1].ends_with("\",") && lines[7].starts_with("64,"), "{csv}");
    small(&folder, &["--scaling", "4,3", "--algorithm", "cannon", "--csv", "t.csv"]).succeeded();
    assert!(read("t.csv").contains("\n3,,,,,,,,\""), "{}", read("t.csv"));
    small(&folder, &["--scaling", "1,2", "--csv", "none/t.csv"])
        .refused("none/t.csv: the directory none does not exist");
    small(&folder, &["--scaling", "1,2", "--csv", "t.svg", "--timeline", "t.svg"]).refused("are the same file");
    assert_eq!(folder.files(), ["t.csv", "t.svg"]);
}

#[test]
fn bad_input_is_refused() {
    let folder = Folder::new("refused");
    for (counts, says) in [
        ("0..4", "number too small, it may be 1 to 1048576"),
        ("8..2", "the range 8..2 is empty; the smaller number comes first"),
        ("a..b", "expected a whole number from 1 to 1048576"),
        ("1..99999999999", "number too large, it may be 1 to 1048576"),
        ("1,,2", "expected a whole number"),
        ("1..2..3", "expected a whole number"),
        ("..", "expected a whole number"),
        ("1,+2", "expected a whole number"),
        ("-1..4", "expected a whole number"),
    ] {
        let says = format!("invalid value '{counts}' for '--scaling <RANKS>': {says}");
        small(&folder, &["--scaling", counts]).refused(&says);
    }
    for noise in ["x", "-0.1", "0.1,", "0.1,-1", "1e4", "nan", "0.1,1,2"] {
        let says = format!("invalid value '{noise}' for '--noise <MEAN[,SEED]>': ");
        small(&folder, &["--simulate", "--noise", noise]).refused(&says);
    }
    for (flags, says) in [
        (&["--noise", "0.1"][..], "--noise delays simulated tasks: it needs --simulate or --scaling"),
        (&["--explain", "--noise", "0.1"], "--noise delays simulated tasks"),
        (&["--weak", "m"], "--scaling <RANKS>"),
        (&["--csv", "t.csv"], "--scaling <RANKS>"),
        (&["--scaling", "1,2", "--weak", "m,x"], "--weak: the expression has no label `x` (it has m, k, n)"),
        (&["--scaling", "1,2", "-n2"], "'--scaling <RANKS>' cannot be used with '--ranks <N>'"),
        (&["--scaling", "1,2", "--simulate"], "'--scaling <RANKS>' cannot be used with '--simulate'"),
        (&["--scaling", "1,2", "--distribution", "*;*;*"], "cannot be used with '--distribution <SPEC>'"),
        (&["--scaling", "1,2", "--trace", "t.json"], "cannot be used with '--trace <FILE.json>'"),
        (&["--scaling", "1,2", "--cut", "x"], "there is no dimension `x` to cut"),
        (&["--scaling", "1,2", "--weak", "m", "-sm=9223372036854775807"], "--size gives `m` two extents"),
    ] {
        small(&folder, flags).refused(says);
    }
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn thousands_of_ranks_take_seconds() {
    let folder = Folder::new("thousands");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/machines/cluster-512.toml");
    let given = ["mk,kn->mn", "-s16384", "--machine", path, "--scaling", "1..16384", "--json"];
    let ended = run(&folder, &given).succeeded();
    let rows = rows(&ended);
    assert_eq!(rows.len(), 15);
    for row in &rows[1..] {
        let [received, bound] = [&row["bytes_received"]["planned"], &row["lower_bound_bytes"]].map(Value::as_f64);
        assert!(received.unwrap() >= bound.unwrap() && row["efficiency"].as_f64().unwrap() > 0.1, "{row}");
    }
    assert!(rows[14]["simulated_ranks"].as_u64().unwrap() <= 64 && rows[10]["simulated_ranks"] == 1024);
}
