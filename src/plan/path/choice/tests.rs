//! Unit tests of `choice`.

use super::*;

#[test]
fn paths_as_opt_einsum_and_numpy_write_them() {
    let steps = PathChoice::Explicit(vec![vec![0, 1], vec![0, 1, 2], vec![0]]);
    for text in ["(0,1),(0,1,2),(0,)", "[(0, 1), (0, 1, 2), (0,)]", " ( 0,1 ) , (0,1,2),(0) "] {
        assert_eq!(text.parse(), Ok(steps.clone()), "{text}");
    }
    assert_eq!("left-to-right".parse(), Ok(PathChoice::LeftToRight));
}

#[test]
fn what_is_no_path() {
    for text in ["(0,1", "[(0,1)", "(0,1)(0,1)", "(a,b)", "()", "[]", "(0,-1)", "0,1", "best"] {
        assert!(text.parse::<PathChoice>().is_err(), "{text}");
    }
}
