//! Fuzzes the value of `--path`, which is a name or a list of positions. Asserts that a list of positions is unchanged
//! after it is printed and parsed again, and applies it to a chain of matrix products.
#![no_main]

use std::sync::OnceLock;

use einsum_dist::plan::PathChoice;
use einsum_dist::{Machine, PlanOptions, Problem, Shaped};
use einsum_dist_fuzz::{check, text};
use libfuzzer_sys::fuzz_target;

/// Returns a chain of four operands, all of whose extents are 2.
fn chain() -> &'static Shaped {
    static CHAIN: OnceLock<Shaped> = OnceLock::new();
    CHAIN.get_or_init(|| {
        let problem = Problem::parse("ab,bc,cd,de->ae").expect("a chain");
        problem.shapes(&vec![vec![2, 2]; 4]).expect("extents that fit")
    })
}

fuzz_target!(init: { chain(); }, |input: &[u8]| check(input, || {
    let path: PathChoice = match text(input).parse() {
        Ok(path) => path,
        Err(error) => return assert!(!error.is_empty()),
    };
    let PathChoice::Explicit(steps) = &path else { return };
    let step = |step: &Vec<usize>| format!("({})", step.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    let printed = steps.iter().map(step).collect::<Vec<_>>().join(",");
    assert_eq!(printed.parse().as_ref(), Ok(&path), "{printed}");
    // A path that does not fit the chain is refused with a message about the path.
    match chain().tree(&Machine::default(), &PlanOptions::default().path(path.clone())) {
        Ok(tree) => assert_eq!(tree.operands, 4),
        Err(error) => assert!(error.to_string().contains("path"), "{error}"),
    }
}));
