//! Tests complete runs on ranks in this process, in many interleavings of their threads. Shuttle generates the
//! interleavings.
//!
//! The tests cover communication threads, workers, mailboxes, leases, sleeping and waking, and the end of a run that
//! succeeds or fails. Sleeps have no timeout in these tests, so a missing wake-up leaves a thread asleep, which Shuttle
//! reports as a deadlock. Throttled links are not tested.

use ndarray::{ArrayD, ArrayViewD, Axis, Dimension, Ix2, stack};

use super::{Error, Problem, World};
use crate::dtype::Dtype;
use crate::exec::{Fault, Injection, RunOptions};
use crate::machine::Machine;
use crate::plan::{AlgorithmName, Plan, PlanOptions};
use crate::sync::explore;

/// Number of random thread interleavings that each test explores. Each test also explores the same number of
/// interleavings with few thread switches. One interleaving takes about a third of a millisecond.
const ORDERS: usize = 2000;

/// Returns a matrix product, or a batch of matrix products for the algorithm that cuts a dimension of kind c.
fn problem(algorithm: AlgorithmName) -> (&'static str, [Vec<usize>; 2]) {
    match algorithm {
        AlgorithmName::BatchParallel => ("cmk,ckn->cmn", [vec![4, 2, 3], vec![4, 3, 2]]),
        _ => ("mk,kn->mn", [vec![4, 5], vec![5, 3]]),
    }
}

fn plan(ranks: usize, algorithm: AlgorithmName) -> Plan {
    let (expression, shapes) = problem(algorithm);
    let shaped = Problem::parse(expression).and_then(|problem| problem.shapes(&shapes));
    let options = PlanOptions { algorithm: Some(algorithm), dtype: Dtype::Float64, ..PlanOptions::default() };
    shaped.and_then(|shaped| shaped.plan(&Machine::new(ranks, 1), &options)).expect("a plan")
}

/// Creates operands with small integer values, whose sums are exact in any order.
fn operands(algorithm: AlgorithmName) -> [ArrayD<f64>; 2] {
    let (_, shapes) = problem(algorithm);
    shapes.map(|shape| ArrayD::from_shape_fn(shape, |at| at.slice().iter().fold(0, |sum, i| 3 * sum + i) as f64 - 7.0))
}

fn product([left, right]: [ArrayViewD<f64>; 2]) -> ArrayD<f64> {
    if left.ndim() > 2 {
        let each = left.outer_iter().zip(right.outer_iter()).map(|(left, right)| product([left, right]));
        let each: Vec<ArrayD<f64>> = each.collect();
        let views: Vec<ArrayViewD<f64>> = each.iter().map(|array| array.view()).collect();
        return stack(Axis(0), &views).expect("equal shapes");
    }
    let [left, right] = [left, right].map(|array| array.into_dimensionality::<Ix2>().expect("a matrix"));
    left.dot(&right).into_dyn()
}

/// Checks that two runs of a program return correct results in every explored interleaving.
fn succeeds(ranks: usize, algorithm: AlgorithmName, overlap: bool, window: usize) {
    let plan = plan(ranks, algorithm);
    let (operands, options) = (operands(algorithm), RunOptions { overlap, window, ..RunOptions::default() });
    let wanted = product([operands[0].view(), operands[1].view()]);
    explore(ORDERS, move || {
        let mut program = World::in_process(ranks).with(options).compile::<f64>(&plan).expect("a program");
        for _ in 0..2 {
            assert_eq!(program.run(&[&operands[0], &operands[1]]).expect("a result"), wanted);
        }
    });
}

/// Checks that, in every explored interleaving, a failure of one rank stops all ranks and is reported. The program can
/// then run again, and fails again.
fn fails(ranks: usize, algorithm: AlgorithmName, fault: Fault) {
    let (plan, operands) = (plan(ranks, algorithm), operands(algorithm));
    let options = RunOptions { injection: Some(Injection { rank: 1, fault, run: 0 }), ..RunOptions::default() };
    explore(ORDERS, move || {
        let mut program = World::in_process(ranks).with(options).compile::<f64>(&plan).expect("a program");
        for _ in 0..2 {
            let error = program.run(&[&operands[0], &operands[1]]).expect_err("a failure");
            assert!(
                matches!(&error, Error::Run { rank, message, .. } if rank.number == 1 && message.contains("injected")),
                "{error}"
            );
        }
    });
}

#[test]
fn every_algorithm() {
    for algorithm in AlgorithmName::ALL {
        let ranks = if algorithm.ranks().allows(3) { 3 } else { 4 };
        succeeds(ranks, algorithm, true, 4);
    }
}

#[test]
fn rings_of_two() {
    succeeds(2, AlgorithmName::RingMn, true, 4);
    succeeds(2, AlgorithmName::RingK, true, 4);
}

#[test]
fn few_transfers_in_flight() {
    succeeds(3, AlgorithmName::RingMn, true, 1);
    succeeds(3, AlgorithmName::RingK, true, 2);
}

#[test]
fn transfers_and_work_take_turns() {
    succeeds(3, AlgorithmName::RingMn, false, 4);
}

#[test]
fn a_worker_fails() {
    fails(3, AlgorithmName::RingMn, Fault::Worker);
    fails(3, AlgorithmName::RingK, Fault::Worker);
}

#[test]
fn a_communication_thread_fails() {
    fails(3, AlgorithmName::RingMn, Fault::Communication);
}
