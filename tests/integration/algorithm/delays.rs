//! Random pauses in front of tasks never change a bit of a result: 200 runs of each algorithm, each with pauses of its own.

use crate::common::{batched, same_bits};
use einsum_dist::World;
use einsum_dist::plan::AlgorithmName;

/// On each of two numbers of ranks.
const RUNS: u64 = 100;

#[track_caller]
fn check(algorithm: AlgorithmName) {
    for (number, ranks) in [3, 4].into_iter().enumerate() {
        // Its grids are square.
        let ranks = if algorithm == AlgorithmName::Cannon { 4 } else { ranks };
        let first = number as u64 * RUNS;
        same_bits(World::in_process(ranks), &batched(ranks, algorithm), first..first + RUNS);
    }
}

/// A test for each algorithm, and a list of all of them.
macro_rules! algorithms {
    ($($test:ident $name:ident),*) => {
        const TESTED: &[AlgorithmName] = &[$(AlgorithmName::$name),*];
        $(#[test]
        fn $test() {
            check(AlgorithmName::$name);
        })*
    };
}

algorithms!(
    local Local, c BatchParallel, ring_mn RingMn, ring_k RingK, slicing Slicing, grid Grid, cannon Cannon, master_worker MasterWorker
);

#[test]
fn every_algorithm_is_tested() {
    assert!(AlgorithmName::ALL.iter().all(|name| TESTED.contains(name)));
}
