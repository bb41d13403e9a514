//! Tests that 2,000 random contractions on in-process ranks agree with the reference, and transfer the planned number
//! of bytes. Also tests that contractions of infinities, NaN, huge and tiny numbers yield finite, infinite or NaN
//! elements as expected.

use crate::common::{Balance, Case, Rng};
use einsum_dist::World;
use einsum_dist::plan::AlgorithmName;

const CASES: usize = 2000;

#[test]
fn random_contractions_agree_with_the_reference() {
    let mut rng = Rng::new(1);
    // One counter for each transport (plain and throttled).
    let mut balance: [Balance; 2] = Default::default();
    let (mut empty, mut largest) = (0, 0);
    for number in 0..CASES {
        let case = Case::random(&mut rng);
        // A single rank transfers nothing, so cases with one rank are rare and do not count for a transport.
        let ranks = if rng.below(16) == 0 { 1 } else { 2 + rng.below(7) };
        let accumulate = rng.below(3) == 0;
        let world = if number % 2 == 0 { World::in_process(ranks) } else { World::throttled(ranks, 5e9) };
        let (among, counts) = (&AlgorithmName::ALL, ranks > 1 && !case.is_empty());
        let plan = balance[number % 2].plan(among, counts, |algorithm| case.plan(ranks, algorithm));
        let plan = plan.expect("local always applies");
        case.check(&world, &plan, number as u64, accumulate);
        empty += usize::from(case.is_empty());
        largest = largest.max(case.space());
    }
    for (transport, balance) in ["shared", "throttled"].iter().zip(&balance) {
        println!("{transport}: {balance}on several ranks");
        assert!(balance.filled.iter().all(|&filled| filled >= 40), "{transport}: {balance}");
    }
    println!("{empty} of {CASES} empty, index spaces up to {largest}");
    assert_eq!(balance.iter().flat_map(|balance| balance.ran).sum::<usize>(), CASES);
    assert!(empty * 10 <= CASES * 3 && largest > 1 << 21);
}

#[test]
fn special_values_come_out_as_one_product_after_the_other() {
    let runs: usize = (1..=4).map(|ranks| crate::common::special::special_values(&World::in_process(ranks))).sum();
    assert!(runs > 1500, "{runs} plans");
}
