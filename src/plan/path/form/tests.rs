//! Unit tests of `form`.

use super::*;

#[test]
fn forms_of_the_same_order() {
    let sliced = |names: &[(&str, usize)]| names.iter().map(|(name, piece)| ((*name).to_owned(), *piece)).collect();
    for (text, order, sliced) in [
        ("greedy", PathChoice::Greedy, sliced(&[])),
        ("[[0, 1], [0, 1]]", PathChoice::Explicit(vec![vec![0, 1]; 2]), sliced(&[])),
        (r#" {"path": [[0, 1], [0, 1]], "cost": 3}"#, PathChoice::Explicit(vec![vec![0, 1]; 2]), sliced(&[])),
        (
            r#"{"path": [[1, 0], [0, 1]], "ssa_path": [[0, 1], [3, 2]], "sliced_inds": ["b", "\u03b1"], "slice_sizes": {"b": 4}}"#,
            PathChoice::Numbered(vec![vec![0, 1], vec![3, 2]]),
            sliced(&[("b", 4), ("\u{3b1}", 1)]),
        ),
        (r#"{"sliced_inds": ["b"]}"#, PathChoice::Auto, sliced(&[("b", 1)])),
    ] {
        assert_eq!(text.parse(), Ok(GivenPath { order, sliced }), "{text}");
    }
}
