//! Runs with pauses in front of tasks, which let tasks and transfers end in orders that hardly ever come up.

use std::ops::Range;

use einsum_dist::exec::{Delays, RunOptions};
use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::ArrayD;

use super::random;

/// A batch of small products that every algorithm can contract, no extent of which divides; two workers for each rank.
pub fn batched(ranks: usize, algorithm: AlgorithmName) -> Plan {
    let options = PlanOptions::default().algorithm(algorithm);
    let shaped = Problem::parse("cmk,ckn->mcn").unwrap().shapes(&[vec![9, 14, 11], vec![9, 11, 10]]).unwrap();
    shaped.plan(&Machine::new(ranks, 2), &options).unwrap()
}

/// Runs a plan once for each seed, with delays of its own, by turns without overlap and with few transfers in flight. Every run has
/// the bits of one in this process without delays. Collective; gives the world back.
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
