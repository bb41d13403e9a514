//! Unit tests of `problem`.

use super::*;
use crate::plan::{AlgorithmName, PathChoice, PipelineChoice};

const HUGE: usize = usize::MAX;

fn expressions() -> Vec<(&'static str, Vec<Vec<usize>>)> {
    let (rows, cube, large) = (1 << 40, 1 << 29, 1 << 58);
    vec![
        // The result has 2^80 elements.
        ("mk,kn->mn", vec![vec![rows, 2], vec![2, rows]]),
        // Every tensor can be addressed, but the contraction has 2^87 multiply-adds.
        ("mk,kn->mn", vec![vec![cube, cube]; 2]),
        ("mk,kn->mn", vec![vec![large, 1], vec![1, 1]]),
        ("mk,kn->mn", vec![vec![1, large], vec![large, 1]]),
        ("mk,kn->mn", vec![vec![HUGE, 0], vec![0, HUGE]]),
        ("bmk,bkn->bmn", vec![vec![large, 1, 1]; 2]),
        ("i,i->", vec![vec![HUGE]; 2]),
        ("i,i->", vec![vec![large]; 2]),
        ("i,j->ij", vec![vec![HUGE]; 2]),
        ("ii->", vec![vec![HUGE, HUGE]]),
        ("i->", vec![vec![large]]),
        ("ij->ji", vec![vec![cube, cube]]),
        ("ij,jk,kl,lm->im", vec![vec![HUGE, HUGE]; 4]),
        ("ij,jk,kl,lm->im", vec![vec![0, HUGE], vec![HUGE, 0], vec![0, HUGE], vec![HUGE, 0]]),
        ("[ij,jk->ik],kl->il", vec![vec![cube, cube]; 3]),
    ]
}

/// Tests that planning returns a plan or an error for any extents, and that every plan can compute all of its
/// predictions.
#[test]
fn extents_that_no_memory_holds() {
    let forced = AlgorithmName::ALL.map(|name| PlanOptions { algorithm: Some(name), ..PlanOptions::default() });
    let more = [
        PlanOptions::default(),
        PlanOptions { memory_limit: Some(0), ..PlanOptions::default() },
        PlanOptions { memory_limit: Some(u64::MAX), in_parts: true, ..PlanOptions::default() },
        PlanOptions { pipeline: PipelineChoice::Of { batches: HUGE, groups: HUGE }, ..PlanOptions::default() },
        PlanOptions { path: PathChoice::Optimal, constant: vec![0], accumulate: true, ..PlanOptions::default() },
        PlanOptions { constant: vec![HUGE], ..PlanOptions::default() },
        PlanOptions { path: PathChoice::Explicit(vec![vec![0, HUGE]]), ..PlanOptions::default() },
    ];
    for (text, shapes) in expressions() {
        let Ok(shaped) = Problem::parse(text).unwrap().shapes(&shapes) else { continue };
        for options in more.iter().chain(&forced) {
            for (ranks, workers) in [(1, 1), (4, 3)] {
                if let Ok(plan) = shaped.plan(&Machine::new(ranks, workers), options) {
                    let values = (plan.seconds(), plan.total_gflop(), plan.peak_bytes(0), plan.roundings());
                    assert!(values.0 >= 0.0 && plan.explain().to_string().contains("predicted"), "{text} {shapes:?}");
                }
            }
        }
    }
    let (text, shapes) = &expressions()[0];
    let error =
        Problem::parse(text).unwrap().shapes(shapes).unwrap().plan(&Machine::default(), &PlanOptions::default());
    assert_eq!(error.unwrap_err().to_string(), "tensor `mn` has more elements than a machine can address");
}

#[test]
fn machines_that_cannot_be_planned_for() {
    let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![64, 64], vec![64, 64]]).unwrap();
    for (machine, says) in [
        (Machine::new(0, 1), "a plan needs at least one rank and one worker"),
        (Machine::new(2_000_000, 1), "plans are made for at most 1048576 ranks, not for 2000000"),
        (Machine::new(HUGE, HUGE), "plans are made for at most 1048576 ranks, not for 18446744073709551615"),
        (Machine::new(1, HUGE), "the machine cannot be planned for: workers is 18446744073709551615"),
        (Machine { flops: f64::NAN, ..Machine::new(2, 1) }, "the machine cannot be planned for: flops is NaN"),
        (Machine { link_bandwidth: 0.0, ..Machine::new(2, 1) }, "the machine cannot be planned for: link_bandwidth is"),
        (Machine { ranks_per_node: 0, ..Machine::new(2, 1) }, "the machine cannot be planned for: ranks_per_node is 0"),
    ] {
        let error = shaped.plan(&machine, &PlanOptions::default()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
