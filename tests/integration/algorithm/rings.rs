//! Tests how rings divide the blocks that they transfer into pieces. Pieces are contiguous slices along the outermost
//! dimension, or slices along the dimension that is cut across ranks.

use crate::common::Case;
use einsum_dist::plan::AlgorithmName;
use einsum_dist::schedule::{Action, Task, View};
use einsum_dist::{Dtype, Machine, Plan, PlanOptions, Problem, World};

/// A plan for links that are so slow that many pieces reduce the run time.
fn plan(case: &Case, ranks: usize, cut: &str, accumulate: bool) -> Plan {
    let options = PlanOptions::default()
        .dtype(Dtype::Float64)
        .algorithm(AlgorithmName::RingMn)
        .cut(vec![cut.to_owned()])
        .accumulate(accumulate);
    let shapes = [case.shape(&case.left), case.shape(&case.right)];
    let machine = Machine { link_bandwidth: 1e8, ..Machine::new(ranks, 1) };
    Problem::parse(&case.expression()).unwrap().shapes(&shapes).unwrap().plan(&machine, &options).unwrap()
}

#[test]
fn pieces_are_cut_along_the_outermost_dimension_where_they_are_deep_enough() {
    // Each case has an expression, shapes, the cut dimension of the stationary tensor (the one that is not
    // transferred), and the position of the dimension along which blocks are cut into pieces.
    let cases: [(&str, [&[usize]; 2], &str, usize); 8] = [
        ("mk,kn->mn", [&[9, 2100], &[2100, 71]], "m", 0),
        ("km,kn->nm", [&[2100, 71], &[2100, 9]], "n", 0),
        ("mlk,lkn->mn", [&[9, 1, 2100], &[1, 2100, 71]], "m", 1),
        ("mkl,kln->mn", [&[9, 30, 70], &[30, 70, 71]], "m", 0),
        ("mk,kn->mn", [&[9, 100], &[100, 2100]], "m", 1),
        ("mk,kn->mn", [&[2100, 100], &[100, 9]], "n", 0),
        ("cmk,ckn->cmn", [&[16, 9, 30], &[16, 30, 311]], "m", 0),
        ("mk,akn->man", [&[9, 30], &[16, 30, 311]], "m", 0),
    ];
    for (number, (expression, shapes, cut, dim)) in cases.into_iter().enumerate() {
        let case = Case::of(expression, shapes, true);
        for (ranks, accumulate) in [(2, false), (2, true), (3, false), (3, true)] {
            let plan = plan(&case, ranks, cut, accumulate);
            let schedule = plan.schedule(0);
            let received: Vec<&View> = schedule.tasks.iter().flat_map(received).collect();
            let mut along: Vec<_> = received.iter().map(|view| view.bounds[dim].clone()).collect();
            along.dedup();
            let what = format!("{expression} {shapes:?} on {ranks}: {received:?}\n{}", plan.explain());
            assert!(along.len() >= ranks, "{what}");
            // If blocks of different sizes alternate in one buffer, the buffer has the size of the largest block.
            for view in received.iter().filter(|_| ranks == 2) {
                let within = &schedule.buffers[view.buffer].within;
                let whole = |inner: usize| view.bounds[inner] == (0..within[inner]);
                assert!((dim + 1..within.len()).all(whole), "{what}");
            }
            case.check(&World::in_process(ranks), &plan, number as u64, accumulate);
        }
    }
}

fn received(task: &Task) -> &[View] {
    match &task.action {
        Action::Recv { into, .. } => into,
        Action::Work(_) | Action::Send { .. } => &[],
    }
}
