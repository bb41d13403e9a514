//! Tests results outside the range of the element type: warnings without `--check`, and `--exponent`.

use super::bound::doubles;
use crate::command::{Folder, RunOutput, output_of, program};

fn run(folder: &Folder, arguments: &[&str]) -> RunOutput {
    output_of(&mut program(folder, arguments)).succeeded()
}

/// Square matrices of one value each.
fn matrices(folder: &Folder) {
    for (name, value) in [("huge", 1e30), ("tiny", 1e-30), ("one", 1.0), ("zero", 0.0), ("infinite", f32::INFINITY)] {
        folder.npy(&format!("{name}.npy"), &[5, 5], &[value; 25]);
    }
    folder.npy("left.npy", &[5, 5], &std::array::from_fn::<f32, 25, _>(|at| if at % 5 == 0 { 1.0 } else { 0.0 }));
    folder.npy("right.npy", &[5, 5], &std::array::from_fn::<f32, 25, _>(|at| if at < 5 { 0.0 } else { 1.0 }));
    doubles(folder, "vast.npy", &[5, 5], &[1e200; 25]);
    doubles(folder, "minute.npy", &[5, 5], &[1e-200; 25]);
}

#[test]
fn results_out_of_range_are_reported() {
    let folder = Folder::new("out-of-range");
    matrices(&folder);
    for (left, right, found, remedies) in [
        ("huge", "huge", "overflow", &["--exponent", "float64"][..]),
        ("tiny", "tiny", "underflow", &["--exponent", "float64"]),
        ("vast", "vast", "overflow", &["--exponent"]),
        ("minute", "minute", "underflow", &["--exponent"]),
        ("huge", "tiny", "", &[]),
        ("zero", "tiny", "", &[]),
        // An exact zero.
        ("left", "right", "", &[]),
        ("infinite", "huge", "", &[]),
    ] {
        for ranks in ["1", "3"] {
            let what = format!("{left} {right} on {ranks} ranks");
            let files = [left, right].map(|name| format!("{name}.npy"));
            let arguments = ["mk,kn->mn", &files[0], &files[1], "-n", ranks, "-t1", "--json"];
            let ran = run(&folder, &arguments);
            let report = ran.json();
            assert_eq!(report["output"]["out_of_range"].as_str().unwrap_or_default(), found, "{what}");
            assert!(report["output"]["exponent"].is_null(), "{what}");
            assert_eq!(ran.err.lines().count(), usize::from(!found.is_empty()), "{what}: {}", ran.err);
            for says in remedies.iter().chain([&found]) {
                assert!(ran.err.contains(says), "{what}: {}", ran.err);
            }
            let quiet = run(&folder, &[&arguments[..], &["-q"]].concat());
            assert!(quiet.err.is_empty(), "{what}: {}", quiet.err);
        }
    }
    let huge = ["mk,kn->mn", "huge.npy", "huge.npy", "-t1"];
    // The check reports the overflow itself.
    assert_eq!(run(&folder, &[&huge[..], &["--check"]].concat()).err.lines().count(), 1);
    let onto = run(&folder, &["mk,kn->mn", "one.npy", "one.npy", "-t1", "--accumulate", "infinite.npy"]);
    assert!(onto.err.is_empty(), "{}", onto.err);
}

#[test]
fn exponents_are_kept_apart() {
    let folder = Folder::new("exponents");
    matrices(&folder);
    for (name, is_double, value) in
        [("huge", false, 5e60), ("tiny", false, 5e-60), ("vast", true, 5.0), ("minute", true, 5.0)]
    {
        let file = format!("{name}.npy");
        for ranks in ["1", "2", "4"] {
            let what = format!("{name} on {ranks} ranks");
            let run = |more: &[&str]| {
                run(
                    &folder,
                    &[&["mk,kn->mn", &file, &file, "-n", ranks, "-t1", "--exponent", "-oout.npy"], more].concat(),
                )
            };
            let ran = run(&["--json"]);
            let report = ran.json();
            assert!(ran.err.is_empty() && report["output"]["out_of_range"].is_null(), "{what}: {}", ran.err);
            let exponent = report["output"]["exponent"].as_i64().unwrap();
            let text = run(&["--repeat=2"]).out;
            assert!(text.contains(&format!("exponent    {exponent}: the result is 2^{exponent} times")), "{text}");
            if is_double {
                let log = 5f64.log10() + if name == "vast" { 400.0 } else { -400.0 };
                // The norm of 25 equal elements is 5 times the element.
                let got = report["output"]["log10_norm"].as_f64().unwrap();
                assert!((got - log - 5f64.log10()).abs() < 1e-9 && report["output"]["norm"].is_null(), "{what}: {got}");
                let norm = if name == "vast" { "norm 2.500000e401" } else { "norm 2.500000e-399" };
                assert!(text.contains(norm), "{text}");
                let element = folder.read::<f64>("out.npy")[7];
                assert!((element.log10() + exponent as f64 * 2f64.log10() - log).abs() < 1e-9, "{what}");
            } else {
                let element = f64::from(folder.read::<f32>("out.npy")[7]);
                assert!((0.5..1.0).contains(&element), "{what}: {element}");
                let element = element * (exponent as f64).exp2();
                assert!((element / value - 1.0).abs() < 1e-6, "{what}: {element}");
                let norm = report["output"]["norm"].as_f64().unwrap();
                assert!((norm / value / 5.0 - 1.0).abs() < 1e-6, "{what}: {norm}");
            }
        }
    }
    for other in [&["--accumulate", "one.npy"][..], &["--checkpoint", "state"]] {
        let arguments = [&["mk,kn->mn", "huge.npy", "huge.npy", "--exponent"], other].concat();
        output_of(&mut program(&folder, &arguments)).refused("cannot be used with");
    }
}

#[test]
fn scaled_results_are_checked() {
    let folder = Folder::new("exponents-checked");
    matrices(&folder);
    for (left, right) in [
        ("huge", "huge"),
        ("tiny", "tiny"),
        ("vast", "vast"),
        ("minute", "minute"),
        ("huge", "tiny"),
        ("zero", "tiny"),
        ("left", "right"),
        ("infinite", "huge"),
    ] {
        for ranks in ["1", "3"] {
            let files = [left, right].map(|name| format!("{name}.npy"));
            let arguments = ["mk,kn->mn", &files[0], &files[1], "-n", ranks, "-t1", "--exponent", "--check", "--json"];
            let check = &run(&folder, &arguments).json()["check"];
            assert!(check["ok"] == true && check["checked"] == 25, "{left} {right} on {ranks} ranks: {check}");
        }
    }
}

/// A chain of 160 random matrices, each of which multiplies the norm by about 5.
#[test]
fn long_chains_do_not_overflow() {
    let folder = Folder::new("long-chain");
    let label = |at: u32| char::from_u32(0x4e00 + at).unwrap();
    let terms: Vec<String> = (0..160).map(|at| format!("{}{}", label(at), label(at + 1))).collect();
    let chain = format!("{}->{}{}", terms.join(","), label(0), label(160));
    let arguments = [&chain, "-s64", "-t1", "--path=greedy", "--json"];
    let plain = run(&folder, &arguments);
    assert!(plain.err.contains("overflowed float32"), "{}", plain.err);
    let double = run(&folder, &[&arguments[..], &["--dtype=f64"]].concat()).json();
    let want = double["output"]["log10_norm"].as_f64().unwrap();
    let mut exponents = Vec::new();
    for more in [&["-n1"][..], &["-n2"], &["-n4"], &["--memory-limit=2800KiB"]] {
        // The smallest run leaves a check too little memory.
        let check = if more[0].starts_with("-n") { &["--check"][..] } else { &[] };
        let report = run(&folder, &[&arguments[..], &["--exponent"], check, more].concat()).json();
        assert!(check.is_empty() || report["check"]["ok"] == true, "{}", report["check"]);
        let got = report["output"]["log10_norm"].as_f64().unwrap();
        // Operands in single and double precision differ by their rounding.
        assert!((got - want).abs() < 1e-4, "{got}, not {want}");
        exponents.push(report["output"]["exponent"].as_i64().unwrap());
    }
    assert!(exponents.iter().all(|&exponent| exponent > 128 && exponent == exponents[0]), "{exponents:?}");
}
