//! Fuzzes the values of `--size` for expressions in all three notations. Each line of the input is the value of one
//! flag.
//!
//! Asserts that accepted flags assign one extent to every label that they name. If all labels have an extent, also
//! writes all labels with their extents as one flag, and asserts that this flag gives the same extents.
#![no_main]

use std::sync::OnceLock;

use einsum_dist::Problem;
use einsum_dist_cli::sizes::Sizes;
use einsum_dist_fuzz::{check, one_line, text};
use libfuzzer_sys::fuzz_target;

fn problems() -> &'static [Problem] {
    static PROBLEMS: OnceLock<Vec<Problem>> = OnceLock::new();
    let texts = ["mk,kn->mn", "[m0,10],[10,9]->[9,m0]", "...é日,日->é", "[ij->j],j->", "->"];
    PROBLEMS.get_or_init(|| texts.iter().filter_map(|text| Problem::parse(text).ok()).collect())
}

fuzz_target!(init: { problems(); }, |input: &[u8]| check(input, || {
    let text = text(input);
    let flags: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for problem in problems() {
        let expression = problem.expression();
        let sizes = match Sizes::parse(&flags, expression) {
            Ok(sizes) => sizes,
            Err(error) => {
                one_line(&error.to_string());
                continue;
            }
        };
        let named: Option<Vec<String>> =
            expression.names().iter().map(|name| Some(format!("{name}={}", sizes.of(name)?))).collect();
        // Labels without an extent would have the default extent, whose computation searches for contraction orders and
        // is slow. Such inputs are therefore skipped.
        let Some(named) = named.filter(|named| !named.is_empty()) else { continue };
        let again = Sizes::parse(&[named.join(",")], expression).expect("all labels with their extents are sizes");
        assert!(expression.names().iter().all(|name| again.of(name) == sizes.of(name)), "{named:?}");
        let (shapes, default) = sizes.shapes(problem).expect("every label has an extent");
        assert!(!default && shapes.len() == expression.operands().count());
    }
}));
