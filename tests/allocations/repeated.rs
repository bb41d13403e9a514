//! Tests that a repeated run of a program plans nothing and allocates almost nothing.
//!
//! The remaining allocations are small lists for the run (slots, leases, metrics). Their number does not depend on
//! extents.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use einsum_dist::{Dtype, Machine, PlanOptions, Problem, World};
use ndarray::{ArrayD, Axis};

use super::counting::{ALLOCATIONS, ALONE, BYTES};

/// Average number of allocations and of allocated bytes per run, without the first run.
fn repeated(expression: &str, shapes: &[Vec<usize>]) -> (usize, usize) {
    let options = PlanOptions::default().dtype(Dtype::Float64);
    let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    let plan = shaped.plan(&Machine::new(1, 1), &options).unwrap();
    let mut program = World::single().compile::<f64>(&plan).unwrap();
    let operands: Vec<ArrayD<f64>> = shapes.iter().map(|shape| ArrayD::from_elem(shape.clone(), 0.5)).collect();
    let operands: Vec<&dyn einsum_dist::Operand<f64>> = operands.iter().map(|operand| operand as _).collect();
    let mut out = ArrayD::<f64>::zeros(plan.output().shape.clone());
    program.run_into(1.0, &operands, 0.0, &mut out).unwrap();
    let (runs, mut best) = (500, f64::INFINITY);
    let mut counted = (0, 0);
    for _ in 0..5 {
        let (before, started) = ((ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed)), Instant::now());
        for _ in 0..runs {
            program.run_into(1.0, &operands, 0.0, &mut out).unwrap();
        }
        best = best.min(started.elapsed().as_secs_f64() / runs as f64);
        counted = ((ALLOCATIONS.load(Relaxed) - before.0) / runs, (BYTES.load(Relaxed) - before.1) / runs);
    }
    println!("{expression} {shapes:?}: {:.2} us, {} allocations, {} bytes", best * 1e6, counted.0, counted.1);
    counted
}

#[test]
fn runs_after_the_first_allocate_next_to_nothing() {
    let _alone = ALONE.lock();
    let matrices = |n| [vec![n, n], vec![n, n]];
    for (expression, shapes, tasks) in [
        ("mk,kn->mn", &matrices(4)[..], 1),
        ("mk,kn->mn", &matrices(48), 1),
        ("bmk,bkn->bmn", &[vec![8, 6, 7], vec![8, 7, 5]], 1),
        ("[[a,b->ab],c->abc],abc->", &[vec![4], vec![5], vec![6], vec![4, 5, 6]], 3),
        ("iij->j", &[vec![6, 6, 5]], 1),
    ] {
        let (allocations, bytes) = repeated(expression, shapes);
        assert!(allocations <= 32 + 16 * tasks && bytes <= 4096, "{expression}: {allocations} of {bytes} bytes");
    }
}

#[test]
fn tensors_may_lie_otherwise_in_every_run() {
    let _alone = ALONE.lock();
    let options = PlanOptions::default().dtype(Dtype::Float64);
    let shaped = Problem::parse("[iij->ij],jk->ki").unwrap().shapes(&[vec![6, 6, 9], vec![9, 40]]).unwrap();
    for ranks in [1, 2] {
        let plan = shaped.plan(&Machine::new(ranks, 1), &options).unwrap();
        let world = if ranks == 1 { World::single() } else { World::in_process(ranks) };
        let mut program = world.compile::<f64>(&plan).unwrap();
        let left = ArrayD::from_shape_fn(vec![6, 6, 9], |at| (at[0] * 54 + at[1] * 9 + at[2]) as f64);
        let right = ArrayD::from_shape_fn(vec![9, 40], |at| (at[0] * 40 + at[1]) as f64);
        let wanted = program.run(&[&left, &right]).unwrap();
        for run in 0..8 {
            // Returns the same values in a different memory order.
            let in_other_order = |array: &ArrayD<f64>, turn: bool, flip: bool| {
                let mut copy = array.clone();
                if turn {
                    copy = copy.reversed_axes().as_standard_layout().into_owned().reversed_axes();
                }
                if flip {
                    copy.invert_axis(Axis(0));
                    copy = copy.as_standard_layout().into_owned();
                    copy.invert_axis(Axis(0));
                }
                assert!(copy == array);
                copy
            };
            let (left, right) =
                (in_other_order(&left, run & 1 > 0, run & 2 > 0), in_other_order(&right, run & 2 > 0, run & 1 > 0));
            let mut out = ArrayD::from_elem(vec![40, 6], f64::NAN);
            if run & 4 > 0 {
                out = ArrayD::from_elem(vec![6, 40], f64::NAN).reversed_axes();
            }
            program.run_into(1.0, &[&left, &right], 0.0, &mut out).unwrap();
            assert_eq!(out, wanted, "run {run} on {ranks}");
        }
    }
}
