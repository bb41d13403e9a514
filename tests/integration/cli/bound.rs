//! Tests the accuracy of sums, the verdicts of `--check` at the limits of a type, and norms of any magnitude.

use einsum_dist::{Dtype, io::npy::create, io::npy::write_block};

use crate::command::{Folder, RunOutput, output_of, program};

fn run(folder: &Folder, arguments: &[&str]) -> RunOutput {
    output_of(&mut program(folder, arguments))
}

/// Writes an array of double precision.
pub fn doubles(folder: &Folder, name: &str, shape: &[usize], values: &[f64]) {
    let path = folder.path().join(name);
    let header = create(&path, Dtype::Float64, shape).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let ranges: Vec<_> = shape.iter().map(|&extent| 0..extent).collect();
    write_block(&path, &header, &ranges, &bytes).unwrap();
}

/// 0.1 is inexact, and all partial sums are rounded in the same direction, so adding the elements in sequence would
/// cause a relative error of 1e-2.
#[test]
fn long_sums_are_exact() {
    let folder = Folder::new("long-sums");
    folder.npy("tenths.npy", &[3_000_000], &vec![0.1; 3_000_000]);
    folder.npy("rows.npy", &[2, 1_500_000], &vec![0.1; 3_000_000]);
    folder.npy("columns.npy", &[1_500_000, 2], &vec![0.1; 3_000_000]);
    for (expression, files, max_error) in [
        ("i->", &["tenths.npy"][..], 2e-6),
        ("i,i->", &["tenths.npy", "tenths.npy"], 2e-6),
        ("ij->i", &["rows.npy"], 2e-6),
        ("ij->j", &["columns.npy"], 2e-6),
        ("ki,kj->ij", &["columns.npy", "columns.npy"], 1e-5),
        ("ik,jk->ij", &["rows.npy", "rows.npy"], 1e-5),
    ] {
        let arguments = [&[expression][..], files, &["-t2", "--check", "--json", "-o", "out.npy"]].concat();
        let report = run(&folder, &arguments).succeeded().json();
        assert_eq!(report["check"]["ok"], true, "{expression}: {report}");
        assert!(report["check"]["max_error"].as_f64().unwrap() < max_error, "{expression}: {}", report["check"]);
        assert!(report["check"]["bound"].as_f64().unwrap() < 7e-5, "{expression}: {}", report["check"]);
    }
}

/// Results that underflow must pass the check, although their relative errors are meaningless.
#[test]
fn underflow_is_within_the_bound() {
    let folder = Folder::new("underflow");
    for (name, value) in [("small.npy", 1.3e-25), ("denormal.npy", 1.7e-40), ("tiny.npy", 3.7e-23), ("large.npy", 1e30)]
    {
        folder.npy(name, &[4, 4], &[value; 16]);
    }
    for (expression, files) in [
        ("mk,kn->mn", &["small.npy", "small.npy"][..]),
        ("mk,kn->mn", &["tiny.npy", "tiny.npy"]),
        ("mk,kn->mn", &["denormal.npy", "denormal.npy"]),
        ("mk,kn->mn", &["denormal.npy", "large.npy"]),
        ("[mk,kl->ml],ln->mn", &["small.npy", "small.npy", "large.npy"]),
        ("[mk,kl->ml],ln->mn", &["tiny.npy", "tiny.npy", "large.npy"]),
    ] {
        let arguments = [&[expression][..], files, &["-t1", "--check", "--json", "-o", "out.npy"]].concat();
        let report = run(&folder, &arguments).succeeded().json();
        assert_eq!(report["check"]["ok"], true, "{expression} {files:?}: {report}");
        let number = |name: &str| report["check"][name].as_f64().unwrap();
        assert!(number("max_error") <= number("bound"), "{}", report["check"]);
    }
}

#[test]
fn overflow_is_named() {
    let folder = Folder::new("overflow");
    folder.npy("large.npy", &[2, 2], &[1e30, 1e30, 1.0, 1.0]);
    folder.npy("huge.npy", &[2, 2], &[-1e10, 1.0, -1e10, 1.0]);
    folder.npy("small.npy", &[2, 2], &[1e-30; 4]);
    let arguments = ["mk,kn->mn", "large.npy", "huge.npy", "-t1", "--check", "-o", "out.npy"];
    let right = run(&folder, &arguments).succeeded();
    assert_eq!(folder.read::<f32>("out.npy"), [f32::NEG_INFINITY, 2e30, -2e10, 2.0]);
    for says in ["warning: ", "[0, 0] is 2.0e40", "float64", "1 element"] {
        assert!(right.err.contains(says), "{says}: {}", right.err);
    }
    assert!(right.out.contains("check       ok, with overflow: 4 elements"), "{}", right.out);
    // An intermediate overflows, because the product of the first two operands is infinite in single precision but
    // finite in double precision.
    std::fs::remove_file(folder.path().join("out.npy")).unwrap();
    let tree =
        ["[mk,kl->ml],ln->mn", "large.npy", "huge.npy", "small.npy", "-t1", "--check", "--json", "-o", "out.npy"];
    let lost = run(&folder, &tree);
    assert_eq!(lost.code, Some(1), "{}", lost.err);
    assert_eq!(lost.json()["check"]["ok"], false);
    assert!(lost.err.contains("overflow") && lost.err.contains("no output file was written"), "{}", lost.err);
    assert!(!folder.path().join("out.npy").exists());
    // In double precision nothing overflows, so no warning is printed.
    doubles(&folder, "large64.npy", &[2, 2], &[1e30, 1e30, 1.0, 1.0]);
    let wider = ["mk,kn->mn", "large64.npy", "huge.npy", "-t1", "--check", "-o", "out.npy"];
    assert!(run(&folder, &wider).succeeded().err.is_empty());
}

#[test]
fn operands_that_are_no_numbers_are_followed() {
    let folder = Folder::new("no-numbers");
    folder.npy("a.npy", &[3, 2], &[f32::NAN, 1.0, f32::INFINITY, 1.0, 2.0, 3.0]);
    folder.npy("b.npy", &[2, 2], &[1.0, -1.0, 2.0, 5.0]);
    let ran = run(&folder, &["mk,kn->mn", "a.npy", "b.npy", "-t1", "--check", "--json", "-o", "out.npy"]).succeeded();
    assert!(ran.err.is_empty(), "{}", ran.err);
    assert_eq!(ran.json()["check"]["ok"], true);
    assert_eq!(ran.json()["output"]["norm"], serde_json::Value::Null);
    let out = folder.read::<f32>("out.npy");
    assert!(out[0].is_nan() && out[1].is_nan());
    assert_eq!(out[2..], [f32::INFINITY, f32::NEG_INFINITY, 8.0, 13.0]);
}

#[test]
fn norms_of_any_scale() {
    let folder = Folder::new("norms");
    for scale in [1e160, 1e-170, 1.0] {
        doubles(&folder, "x.npy", &[2, 2], &[3.0 * scale, 4.0 * scale, 0.0, 12.0 * scale]);
        for ranks in ["1", "2"] {
            let report = run(&folder, &["ij->ji", "x.npy", "-n", ranks, "-t1", "--json"]).succeeded().json();
            let norm = report["output"]["norm"].as_f64().unwrap() / scale;
            assert!((norm - 13.0).abs() < 1e-13, "{scale} on {ranks}: {norm}");
        }
    }
    doubles(&folder, "x.npy", &[2], &[f64::INFINITY, 1.0]);
    let report = run(&folder, &["i->i", "x.npy", "-t1", "--json"]).succeeded().json();
    assert_eq!(report["output"]["norm"], serde_json::Value::Null);
}

/// If all operands were multiplied in order, products would leave the range of double precision. The products of the
/// tree's single steps stay in this range.
#[test]
fn double_precision_is_not_its_own_limit() {
    let folder = Folder::new("own-limit");
    for (expression, operands, passes) in [
        ("i,[i,i->i]->i", [1e200, 1e200, 1e-300], true),
        ("i,[i,i->i]->i", [1e-200, 1e-200, 1e300], true),
        // The intermediate is infinite, although the result would be 1e100.
        ("[i,i->i],i->i", [1e200, 1e200, 1e-300], false),
    ] {
        for (name, value) in ["a.npy", "b.npy", "c.npy"].iter().zip(operands) {
            doubles(&folder, name, &[1], &[value]);
        }
        let ended = run(&folder, &[expression, "a.npy", "b.npy", "c.npy", "-t1", "--check"]);
        assert_eq!(
            ended.code,
            Some(if passes { 0 } else { 1 }),
            "{expression} {operands:?}: {}{}",
            ended.out,
            ended.err
        );
    }
    doubles(&folder, "cancel.npy", &[4], &[1e308, 1e308, -1e308, -1e308]);
    run(&folder, &["k->", "cancel.npy", "-t1", "--check"]).succeeded();
    // `a` is summed before the multiplication, so infinity is not subtracted from infinity.
    folder.npy("left.npy", &[2, 3], &[2.0, 2.0, 2.0, -1.0, -1.0, -1.0]);
    folder.npy("right.npy", &[3, 1], &[f32::INFINITY, 1.0, 1.0]);
    run(&folder, &["ab,bc->c", "left.npy", "right.npy", "-t1", "--check"]).succeeded();
}

/// If little memory is allowed, the check computes the sums of its reference in pieces. The rounding errors of these
/// sums must not be reported as errors of the result.
#[test]
fn pieces_of_double_precision_are_as_good() {
    let folder = Folder::new("double-pieces");
    doubles(&folder, "tenths.npy", &[1_000_000], &vec![0.1; 1_000_000]);
    let arguments = ["k,k->", "tenths.npy", "tenths.npy", "-t1", "--check", "--memory-limit", "16003000", "--json"];
    let report = run(&folder, &arguments).succeeded().json();
    assert!(report["check"]["max_error"].as_f64().unwrap() < 1e-14, "{}", report["check"]);
}
