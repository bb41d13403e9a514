//! Compares messages for operands that do not match an expression, and for invalid paths, with `messages.golden`.
//! `UPDATE_GOLDEN=1 cargo test messages` rewrites that file. Messages for invalid expressions are tested in
//! parser/tests/golden.rs.

use std::fmt::Write;

use einsum_dist::plan::GivenPath;
use einsum_dist::{Error, Machine, PlanOptions, Problem};

/// Expressions with shapes that do not match them.
const SHAPES: &[(&str, &[&[usize]])] = &[
    // Wrong number of operands.
    ("mk,kn->mn", &[&[2, 3]]),
    ("mk,kn->mn", &[]),
    ("mk,kn->mn", &[&[2, 3], &[3, 4], &[4, 5]]),
    ("->", &[]),
    ("->", &[&[], &[]]),
    ("ij,jk,", &[&[2, 3], &[3, 4]]),
    ("[ij,jk->ik],kl->il", &[&[2, 3], &[3, 4]]),
    // Wrong number of dimensions.
    ("mk,kn->mn", &[&[2, 3], &[3]]),
    ("mk,kn->mn", &[&[2, 3, 4], &[3, 4]]),
    ("a,a->", &[&[3], &[]]),
    (",a->a", &[&[1], &[3]]),
    ("...ij,jk->...ik", &[&[3], &[3, 4]]),
    ("ij,...jkl->...ik", &[&[2, 3], &[3, 4]]),
    ("[m0,k0],[k0,n0]->[m0,n0]", &[&[2, 3], &[3]]),
    // Wrong extents.
    ("mk,kn->mn", &[&[2, 3], &[4, 5]]),
    ("mk,kn->mn", &[&[2, 0], &[4, 5]]),
    ("ab,bc,cd->ad", &[&[2, 3], &[3, 4], &[5, 6]]),
    ("ab,bc,cb->a", &[&[2, 3], &[1, 4], &[4, 5]]),
    ("ii->i", &[&[2, 3]]),
    ("ii->", &[&[1, 3]]),
    ("ab,iji->ja", &[&[2, 2], &[2, 3, 4]]),
    ("...a,...a->...", &[&[2, 3], &[4, 3]]),
    ("...a,...a->a", &[&[5, 2, 3], &[4, 2, 3]]),
    ("[ij,jk->ik],kl->il", &[&[2, 3], &[3, 4], &[5, 6]]),
    ("[[3,0]->[0,3]],[3,10]->[0,10]", &[&[2, 3], &[4, 5]]),
    ("日本,本語->日語", &[&[2, 3], &[4, 5]]),
];

/// Invalid paths for an expression of three operands.
const PATHS: &[&str] = &[
    "(0,1)",
    "(0,1),(0,1),(0,1)",
    "(0,3),(0,1)",
    "(0,1),(1,2)",
    "(1,1),(0,1)",
    "(0,1),(0,0)",
    "(0,1",
    "(0,1),(0,one)",
    "(0,1);(0,1)",
    "0,1",
    "fastest",
    "",
    "[[0,1],[0,x]]",
    "[[0,1],[]]",
    "{\"path\": [[0,1]}",
    "{\"path\": [[0,1],[]]}",
    "{\"ssa_path\": [[0,5],[3,2]]}",
    "{\"ssa_path\": [[0,1],[0,2]]}",
    "{\"ssa_path\": [[0,1]]}",
    "{\"sliced_inds\": []}",
    "{\"path\": [[0,1],[0,1]], \"sliced_inds\": [\"x\"]}",
    "{\"path\": [[0,1],[0,1]], \"slice_sizes\": {\"b\": 2}}",
    "{\"path\": [[0,1],[0,1]], \"sliced_inds\": [\"b\"], \"slice_sizes\": {\"b\": 2}}",
];

/// An expression whose brackets determine the order completely, so other paths are invalid.
const BRACKETED: &str = "[ab,bc->ac],cd->ad";

fn words(error: &Error) -> String {
    match error {
        Error::Shape(error) => error.render(),
        error => format!("{error}\n"),
    }
}

fn planned(expression: &str, given: GivenPath) -> Result<(), Error> {
    let shapes = [vec![2, 3], vec![3, 4], vec![4, 5]];
    let shaped = Problem::parse(expression)?.shapes(&shapes)?;
    let options = PlanOptions::default().path(given.order).sliced(given.sliced);
    shaped.plan(&Machine::default(), &options).map(drop)
}

#[test]
fn bad_operands_and_paths() {
    let mut out = String::new();
    for (expression, shapes) in SHAPES {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        let error = Problem::parse(expression).unwrap().shapes(&shapes).unwrap_err();
        writeln!(out, "==== {expression} of {shapes:?}\n{}", words(&error)).unwrap();
    }
    for path in PATHS {
        let says = match path.parse::<GivenPath>() {
            Ok(path) => words(&planned("ab,bc,cd->ad", path).unwrap_err()),
            Err(message) => message + "\n",
        };
        writeln!(out, "==== --path \"{path}\"\n{says}").unwrap();
    }
    let both = planned(BRACKETED, "(1,2),(0,1)".parse().unwrap()).unwrap_err();
    write!(out, "==== {BRACKETED} --path \"(1,2),(0,1)\"\n{}", words(&both)).unwrap();
    let actual: String = out.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/integration/cli/messages.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap();
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "messages.golden, line {}; UPDATE_GOLDEN=1 rewrites it", number + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count());
}
