//! Runs plans with random delays before tasks, which cause rare completion orders of tasks and transfers.

use std::ops::Range;

use einsum_dist::exec::{Delays, RunOptions};
use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::ArrayD;

use super::random;

/// A batch of small products that every algorithm can contract. No extent is divisible by `ranks`; each rank has two
/// workers.
pub fn batched(ranks: usize, algorithm: AlgorithmName) -> Plan {
    let options = PlanOptions::default().algorithm(algorithm);
    let shaped = Problem::parse("cmk,ckn->mcn").unwrap().shapes(&[vec![9, 14, 11], vec![9, 11, 10]]).unwrap();
    shaped.plan(&Machine::new(ranks, 2), &options).unwrap()
}

/// Runs a plan once per seed. The seed determines the delays, whether transfers overlap work, and the maximum number of
/// transfers in flight. Every result must have the same bits as a run without delays on in-process ranks. Returns the
/// world. Collective.
pub fn same_bits(mut world: World, plan: &Plan, seeds: Range<u64>) -> World {
    let operands = [0, 1].map(|operand| random::<f32>(&plan.operand(operand).shape, 11, operand as u32));
    let operands: Vec<&dyn Operand<f32>> = operands.iter().map(|array| array as &dyn Operand<f32>).collect();
    let run = |world: &World| bits(&world.compile::<f32>(plan).unwrap().run(&operands).unwrap());
    let wanted = run(&World::in_process(plan.ranks()));
    for seed in seeds {
        let (overlap, window) = (seed % 4 != 3, [4, 1, 2][seed as usize % 3]);
        world = world.with(RunOptions { overlap, window, delays: Some(Delays(seed)), ..RunOptions::default() });
        assert!(
            run(&world) == wanted,
            "other bits with seed {seed}, overlap {overlap}, window {window}: {}",
            plan.explain()
        );
    }
    world
}

fn bits(array: &ArrayD<f32>) -> Vec<u32> {
    array.iter().map(|value| value.to_bits()).collect()
}
