//! Tests operands with at most one element per rank, which grids replicate.

use crate::common::Rng;
use einsum_dist::plan::Source;
use einsum_dist::schedule::Action;
use einsum_dist::{AlgorithmName, Machine, Plan, PlanOptions, Problem};

fn plan(extents: [usize; 4], mirrored: bool, ranks: usize, options: &PlanOptions) -> Plan {
    let [c, m, n, k] = extents;
    let (expression, shapes) = match mirrored {
        false => ("cmk,ckn->cmn", [vec![c, m, k], vec![c, k, n]]),
        true => ("cnk,ckm->cnm", [vec![c, n, k], vec![c, k, m]]),
    };
    Problem::parse(expression).unwrap().shapes(&shapes).unwrap().plan(&Machine::new(ranks, 1), options).unwrap()
}

/// Whether some operand is broadcast to all ranks.
fn broadcasts(plan: &Plan) -> bool {
    let copied = |value: &einsum_dist::plan::Value| {
        matches!(value.source, Source::Redistribute { .. }) && value.distribution.replicas() > 1
    };
    plan.values.iter().any(copied)
}

#[test]
fn replicas_are_correct_and_counted() {
    let (mut rng, mut replicated) = (Rng::new(60), 0);
    let options = PlanOptions::default().algorithm(AlgorithmName::Grid);
    for _ in 0..60 {
        let [c, n, k] = [0; 3].map(|_| rng.below(4));
        let (extents, ranks) = ([c, 1 + rng.below(300), n, k], 14 + rng.below(51));
        let plan = plan(extents, rng.below(2) == 0, ranks, &options);
        plan.verify().unwrap_or_else(|error| panic!("{error}: {extents:?} on {ranks} ranks\n{}", plan.explain()));
        plan.verify_by_classes().unwrap();
        let counted = plan.count_received(|rank, bytes| assert_eq!(bytes, plan.bytes_received(rank)));
        assert!(counted.is_some());
        replicated += usize::from(broadcasts(&plan));
    }
    assert!(replicated > 20, "{replicated}");
}

#[test]
fn nobody_sends_to_all() {
    let plan = plan([2, 1 << 20, 2, 2], false, 4096, &PlanOptions::default());
    assert!(broadcasts(&plan), "{}", plan.explain());
    for rank in [0, 1, 2047, 4095] {
        let sends = plan.schedule(rank).tasks.iter().filter(|task| matches!(task.action, Action::Send { .. })).count();
        assert!(sends <= 12, "rank {rank} sends {sends} messages");
    }
}

#[test]
fn forbidden_redistributions_leave_replicas_to_the_user() {
    let options = PlanOptions::default().algorithm(AlgorithmName::Grid).forbid_redistribution(true);
    let plan = plan([1, 300, 2, 2], false, 32, &options);
    plan.verify().unwrap();
    assert_eq!(plan.operand(1).distribution.replicas(), 32);
}

#[test]
fn large_operands_with_small_sums_stay_distributed() {
    let shapes = [vec![16, 100_000], vec![10_000, 16]];
    let options = PlanOptions::default().algorithm(AlgorithmName::Grid);
    let shaped = Problem::parse("kj,mk->m").unwrap().shapes(&shapes).unwrap();
    let plan = shaped.plan(&Machine::new(40, 1), &options).unwrap();
    plan.verify().unwrap();
    assert!(broadcasts(&plan) && plan.operand(0).distribution.parts() >= 16, "{}", plan.explain());
}

#[test]
fn slices_and_limits_are_kept() {
    let shaped = Problem::parse("cmk,ckn->cmn").unwrap().shapes(&[vec![64, 4000, 2], vec![64, 2, 16]]).unwrap();
    let machine = Machine::new(32, 1);
    let whole = shaped.plan(&machine, &PlanOptions::default()).unwrap();
    let busiest = |plan: &Plan| (0..32).map(|rank| plan.peak_bytes(rank)).max().unwrap();
    for part in [2, 3] {
        let limit = busiest(&whole) / part;
        let plan = shaped.plan(&machine, &PlanOptions::default().memory_limit(limit).in_parts(true)).unwrap();
        plan.verify().unwrap();
        assert!(busiest(&plan) <= limit);
    }
}
