//! Random contractions whose three tensors lie anyhow, by `slicing`: results, proofs, and bytes counted independently.

mod common;

use common::{Case, Rng};
use einsum_dist::dist::{Axis, Cut, Distribution, Owners, Role};
use einsum_dist::plan::{AlgorithmName, Fixed};
use einsum_dist::{Machine, Options, Plan, Problem, World};

const CASES: usize = 1000;

/// A grid of at most so many ranks, chosen among all, that cuts, deals out and replicates.
fn anyhow(rng: &mut Rng, shape: &[usize], ranks: usize) -> Distribution {
    let mut axes = Vec::new();
    let mut left = ranks;
    while left > 1 && rng.below(4) > 0 {
        let parts = 1 + rng.below(left);
        left /= parts;
        let role = if shape.is_empty() || rng.below(4) == 0 {
            Role::Replicate
        } else {
            let dim = rng.below(shape.len());
            let how = match rng.below(4) {
                0 => Cut::Cyclic { block: 1 + rng.below(4) },
                1 => {
                    let mut at: Vec<usize> = (1..parts).map(|_| rng.below(shape[dim] + 2)).collect();
                    at.sort_unstable();
                    Cut::At(at)
                }
                _ => Cut::Even,
            };
            Role::Cut { dim, how }
        };
        axes.push(Axis { ranks: parts, role });
    }
    let distribution = Distribution::new(axes);
    let places = distribution.places();
    match rng.below(3) {
        0 => distribution.owned_by(Owners::From(rng.below(ranks - places + 1))),
        1 => {
            let mut all: Vec<usize> = (0..ranks).collect();
            rng.shuffle(&mut all);
            distribution.owned_by(Owners::Listed(all[..places].to_vec()))
        }
        _ => distribution,
    }
}

fn plan(case: &Case, ranks: usize, fixed: Fixed, accumulate: bool) -> Plan {
    let dtype = if case.f64 { einsum_dist::Dtype::Float64 } else { einsum_dist::Dtype::Float32 };
    let options = Options { dtype, algorithm: Some(AlgorithmName::Slicing), fixed, accumulate, ..Options::default() };
    let shapes = [case.shape(&case.left), case.shape(&case.right)];
    Problem::parse(&case.expression())
        .unwrap()
        .shapes(&shapes)
        .unwrap()
        .plan(&Machine::new(ranks, 1), &options)
        .unwrap()
}

#[test]
fn tensors_that_lie_anyhow() {
    let mut rng = Rng::new(5);
    let (mut filled, mut moved) = (0, 0);
    for number in 0..CASES {
        let case = Case::random(&mut rng);
        let ranks = 1 + rng.below(12);
        let [left, right, out] =
            [&case.left, &case.right, &case.out].map(|labels| anyhow(&mut rng, &case.shape(labels), ranks));
        let fixed = Fixed { operands: vec![Some(left.clone()), Some(right.clone())], output: Some(out.clone()) };
        let accumulate = rng.below(3) == 0;
        let plan = plan(&case, ranks, fixed, false);
        assert_eq!(
            [plan.operand(0), plan.operand(1), plan.output()].map(|value| &value.distribution),
            [&left, &right, &out]
        );
        let world = World::in_process(ranks);
        case.check(&world, &plan, number as u64, accumulate);
        filled += usize::from(!case.is_empty());
        moved += usize::from((0..ranks).any(|rank| plan.schedule(rank).bytes_received() > 0));
    }
    println!("{filled} of {CASES} not empty, bytes moved in {moved}");
    assert!(filled * 10 >= CASES * 7 && moved * 2 >= CASES);
}
