//! Blocks that travel a ring in pieces: along the outermost dimension, a run of memory each, or along the one that travels.

mod common;

use common::Case;
use einsum_dist::plan::AlgorithmName;
use einsum_dist::schedule::Action;
use einsum_dist::{Dtype, Machine, Options, Plan, Problem, World};

/// A plan for links so slow that many pieces pay.
fn plan(case: &Case, ranks: usize, cut: &str, accumulate: bool) -> Plan {
    let options = Options {
        dtype: Dtype::Float64,
        algorithm: Some(AlgorithmName::RingMn),
        cut: vec![cut.to_owned()],
        accumulate,
        ..Options::default()
    };
    let shapes = [case.shape(&case.left), case.shape(&case.right)];
    let machine = Machine { link_bandwidth: 1e8, ..Machine::new(ranks, 1) };
    Problem::parse(&case.expression()).unwrap().shapes(&shapes).unwrap().plan(&machine, &options).unwrap()
}

#[test]
fn pieces_are_runs_of_memory_where_they_are_deep_enough() {
    // The dimension that stays cut, and the position of the one that blocks are cut along into pieces.
    let cases: [(&str, [&[usize]; 2], &str, usize); 7] = [
        ("mk,kn->mn", [&[9, 2100], &[2100, 71]], "m", 0),
        ("km,kn->nm", [&[2100, 71], &[2100, 9]], "n", 0),
        ("mlk,lkn->mn", [&[9, 1, 2100], &[1, 2100, 71]], "m", 1),
        ("mkl,kln->mn", [&[9, 30, 70], &[30, 70, 71]], "m", 0),
        ("mk,kn->mn", [&[9, 100], &[100, 2100]], "m", 1),
        ("mk,kn->mn", [&[2100, 100], &[100, 9]], "n", 0),
        ("cmk,ckn->cmn", [&[16, 9, 30], &[16, 30, 311]], "m", 0),
    ];
    for (number, (expression, shapes, cut, dim)) in cases.into_iter().enumerate() {
        let case = Case::of(expression, shapes, true);
        for (ranks, accumulate) in [(2, false), (2, true), (3, false), (3, true)] {
            let plan = plan(&case, ranks, cut, accumulate);
            let sent: Vec<_> = plan.schedule(0).tasks.iter().filter_map(first_box).collect();
            let mut along: Vec<_> = sent.iter().map(|bounds| bounds[dim].clone()).collect();
            along.dedup();
            assert!(along.len() > ranks - 1, "{expression} {shapes:?} on {ranks}: {along:?}\n{}", plan.explain());
            case.check(&World::in_process(ranks), &plan, number as u64, accumulate);
        }
    }
}

fn first_box(task: &einsum_dist::schedule::Task) -> Option<einsum_dist::dist::Bounds> {
    match &task.action {
        Action::Send { from, .. } => Some(from.first()?.bounds.clone()),
        Action::Work(_) | Action::Recv { .. } => None,
    }
}
