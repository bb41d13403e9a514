//! Fuzzes the value of `--distribution` for two operands and a result.
//!
//! If the text is accepted and the grid is small, asserts that the blocks of the grid cover each element of a small
//! tensor exactly once, not counting replicas.
#![no_main]

use einsum_dist::distribution::Distribution;
use einsum_dist::plan::FixedDistributions;
use einsum_dist_fuzz::{check, text};
use libfuzzer_sys::fuzz_target;

const TERMS: [&[&str]; 3] = [&["m", "k"], &["k", "n", "k"], &["m0", "日"]];

/// Maximum number of ranks of a grid whose blocks are computed.
const MAX_RANKS: usize = 24;

fuzz_target!(|input: &[u8]| check(input, || {
    match FixedDistributions::parse(&text(input), &TERMS) {
        Ok(fixed) => {
            assert!(fixed.operands.len() <= 2);
            let given = fixed.operands.iter().zip(TERMS).chain([(&fixed.output, TERMS[2])]);
            given
                .filter_map(|(given, names)| Some((given.as_ref()?, names)))
                .for_each(|(given, names)| covers(given, names));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}));

fn covers(given: &Distribution, names: &[&str]) {
    assert!(!given.describe(names).is_empty() && given.ranks() >= given.places());
    if given.places() > MAX_RANKS {
        return;
    }
    let shape = vec![5; names.len()];
    let mut elements = 0;
    for place in 0..given.places() {
        let mut coordinates = vec![0; given.axes().len()];
        let mut rest = place;
        for (coordinate, axis) in coordinates.iter_mut().zip(given.axes()).rev() {
            (*coordinate, rest) = (rest % axis.ranks, rest / axis.ranks);
        }
        let rank = given.rank_at(&coordinates);
        assert!(rank < given.ranks() && given.coordinates(rank) == Some(coordinates));
        let block = given.block(&shape, rank).expect("the rank is in the grid");
        let largest = given.largest_block(&shape);
        assert!(block.dims().iter().zip(largest).all(|(indices, most)| indices.len() <= most));
        if given.is_first_replica(rank) {
            elements += block.dims().iter().map(|indices| indices.len()).product::<usize>();
        }
    }
    assert_eq!(elements, shape.iter().product::<usize>(), "the blocks of the grid are not the tensor");
}
