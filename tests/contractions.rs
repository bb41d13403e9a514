//! Random contractions on in-process ranks agree with the reference, with planned bytes equal to moved bytes.

mod common;

use common::{Case, Rng};
use einsum_dist::plan::AlgorithmName;

#[test]
fn random_contractions_agree_with_the_reference() {
    let mut rng = Rng::new(1);
    let mut filled = std::collections::HashMap::new();
    let cases = 2000;
    for number in 0..cases {
        let case = Case::random(&mut rng);
        let algorithm = AlgorithmName::ALL[number % 4];
        let ranks = 1 + rng.below(8);
        let accumulate = rng.below(3) == 0;
        if case.check(number, ranks, Some(algorithm), accumulate) {
            *filled.entry(algorithm.name()).or_insert(0) += usize::from(!case.is_empty());
        }
    }
    println!("{filled:?}");
    for algorithm in AlgorithmName::ALL {
        assert!(filled[algorithm.name()] >= 200, "{} ran {filled:?}", algorithm.name());
    }
}
