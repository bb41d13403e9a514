//! Whole runs on ranks of this process, in orders of events explored with Shuttle.
//!
//! All of a run is there: communication threads, workers, mailboxes, leases, sleeping and waking, the end of a run and its failure. Only
//! a missing wake can leave a thread asleep, which Shuttle reports as a deadlock. Deliberately absent: links that take time.

use ndarray::{ArrayD, Ix2};

use super::{Error, Problem, World};
use crate::dtype::Dtype;
use crate::exec::{Fault, Injection, RunOptions};
use crate::machine::Machine;
use crate::plan::{AlgorithmName, Options, Plan};
use crate::sync::explore;

/// Of each kind, for each test. A run takes a third of a millisecond.
const ORDERS: usize = 2000;

fn plan(ranks: usize, algorithm: AlgorithmName) -> Plan {
    let shaped = Problem::parse("mk,kn->mn").and_then(|problem| problem.shapes(&[vec![4, 5], vec![5, 3]]));
    let options = Options { algorithm: Some(algorithm), dtype: Dtype::Float64, ..Options::default() };
    shaped.and_then(|shaped| shaped.plan(&Machine::new(ranks, 1), &options)).expect("a plan")
}

/// Whole numbers, whose sums are exact in any order.
fn operands() -> [ArrayD<f64>; 2] {
    [[4, 5], [5, 3]].map(|shape| ArrayD::from_shape_fn(shape.to_vec(), |at| (3 * at[0] + at[1]) as f64 - 7.0))
}

fn product([left, right]: &[ArrayD<f64>; 2]) -> ArrayD<f64> {
    let [left, right] = [left, right].map(|array| array.view().into_dimensionality::<Ix2>().expect("a matrix"));
    left.dot(&right).into_dyn()
}

/// A program that runs twice gives the right result in every order.
fn succeeds(ranks: usize, algorithm: AlgorithmName, overlap: bool, window: usize) {
    let plan = plan(ranks, algorithm);
    let (operands, options) = (operands(), RunOptions { overlap, window, ..RunOptions::default() });
    let wanted = product(&operands);
    explore(ORDERS, move || {
        let mut program = World::in_process(ranks).with(options).compile::<f64>(&plan).expect("a program");
        for _ in 0..2 {
            assert_eq!(program.run(&[&operands[0], &operands[1]]).expect("a result"), wanted);
        }
    });
}

/// A failure of one rank ends all of them in every order, and it is the one reported; the program can run, and fail, again.
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
fn local() {
    succeeds(2, AlgorithmName::Local, true, 4);
}

#[test]
fn ring_mn() {
    succeeds(2, AlgorithmName::RingMn, true, 4);
    succeeds(3, AlgorithmName::RingMn, true, 1);
    succeeds(3, AlgorithmName::RingMn, false, 4);
}

#[test]
fn ring_k() {
    succeeds(2, AlgorithmName::RingK, true, 4);
    succeeds(3, AlgorithmName::RingK, true, 2);
}

#[test]
fn slicing() {
    succeeds(3, AlgorithmName::Slicing, true, 4);
}

#[test]
fn grid() {
    succeeds(3, AlgorithmName::Grid, true, 4);
}

#[test]
fn cannon() {
    succeeds(4, AlgorithmName::Cannon, true, 4);
}

#[test]
fn master_worker() {
    succeeds(3, AlgorithmName::MasterWorker, true, 4);
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
