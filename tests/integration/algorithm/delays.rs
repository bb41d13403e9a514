//! Tests that random delays before tasks never change a bit of a result. Each algorithm runs 200 times, each time with
//! different delays.

use crate::common::{batched, same_bits};
use einsum_dist::World;
use einsum_dist::plan::AlgorithmName;

/// Number of runs per algorithm, for each of two numbers of ranks.
const RUNS: u64 = 100;

fn check(algorithm: AlgorithmName) {
    for (number, ranks) in [3, 4].into_iter().enumerate() {
        let ranks = if algorithm.ranks().allows(ranks) { ranks } else { 4 };
        let first = number as u64 * RUNS;
        same_bits(World::in_process(ranks), &batched(ranks, algorithm), first..first + RUNS);
    }
}

#[test]
fn pauses_change_no_bit() {
    // Runs sleep most of the time, so all algorithms run concurrently.
    std::thread::scope(|scope| {
        AlgorithmName::ALL.iter().for_each(|&algorithm| drop(scope.spawn(move || check(algorithm))))
    });
}
