//! Tests plans for which the planner chooses the distributions of all steps jointly. They must not transfer more bytes
//! than plans made step by step, and their results must be correct.

use crate::common::{Network, Rng, random, run, trees};
use einsum_dist::kernel::error_bound;
use einsum_dist::plan::Source;
use einsum_dist::{Dtype, Machine, Plan, PlanOptions, Problem};
use ndarray::ArrayD;

/// A ring of 26 tensors with chords, in which each tensor has two or three neighbours and extents are 4 to 12.
fn network() -> Network {
    let mut rng = Rng::new(26);
    let mut terms = vec![String::new(); 26];
    let mut letters = ('a'..='z').chain('A'..='Z');
    let mut extents = Vec::new();
    let mut bond = |rng: &mut Rng, terms: &mut [String], left: usize, right: usize| {
        let letter = letters.next().unwrap();
        extents.push((letter, 4 + rng.below(9)));
        terms[left].push(letter);
        terms[right].push(letter);
    };
    for at in 0..26 {
        bond(&mut rng, &mut terms, at, (at + 1) % 26);
    }
    for at in [0, 2, 5, 8, 11] {
        bond(&mut rng, &mut terms, at, (at + 13) % 26);
    }
    let mut output = String::new();
    for at in [3, 9, 16, 22] {
        let letter = letters.next().unwrap();
        extents.push((letter, 6 + rng.below(5)));
        terms[at].push(letter);
        output.push(letter);
    }
    let expression = format!("{}->{output}", terms.join(","));
    Network { name: "26".to_owned(), expression, extents, path: "auto".to_owned() }
}

fn plan(network: &Network, ranks: usize, step_by_step: bool, dtype: Dtype) -> Plan {
    let options = PlanOptions::default().step_by_step(step_by_step).dtype(dtype).path(network.path.parse().unwrap());
    let shaped = Problem::parse(&network.expression).unwrap().shapes(&network.shapes()).unwrap();
    shaped.plan(&Machine::new(ranks, 1), &options).unwrap()
}

/// Total number of bytes that all ranks receive.
fn bytes(plan: &Plan) -> u64 {
    (0..plan.ranks()).map(|rank| plan.schedule(rank).bytes_received()).sum()
}

#[test]
fn whole_trees_move_no_more_than_step_by_step() {
    let mut saved: f64 = 0.0;
    for network in trees().into_iter().chain([network()]) {
        for ranks in [2, 4, 6] {
            let [whole, steps] = [false, true].map(|by_step| bytes(&plan(&network, ranks, by_step, Dtype::Float32)));
            println!("{} on {ranks}: {whole} bytes, step by step {steps}", network.name);
            assert!(whole <= steps, "{} on {ranks}: {whole} bytes, step by step {steps}", network.name);
            if steps > 0 {
                saved = saved.max(1.0 - whole as f64 / steps as f64);
            }
        }
    }
    assert!(saved >= 0.2, "{saved}");
}

/// Returns the network with extents that are a third as large, so that it runs quickly. The network of [`network`],
/// which is called `26`, is small already and stays as it is.
fn smaller(mut network: Network) -> Network {
    if network.name != "26" {
        network.extents.iter_mut().for_each(|(_, extent)| *extent = extent.div_ceil(3));
    }
    network
}

#[test]
fn whole_trees_are_right() {
    for network in trees().into_iter().chain([network()]).map(smaller) {
        let operands: Vec<ArrayD<f64>> = network.shapes().iter().zip(0..).map(|(s, at)| random(s, 5, at)).collect();
        let absolute: Vec<ArrayD<f64>> = operands.iter().map(|array| array.mapv(f64::abs)).collect();
        let alone = plan(&network, 1, false, Dtype::Float64);
        let (want, magnitude) = (run(&alone, &operands), run(&alone, &absolute));
        for ranks in [2, 4, 6] {
            let plan = plan(&network, ranks, false, Dtype::Float64);
            plan.verify().unwrap();
            let bound = 2.0 * error_bound(Dtype::Float64, plan.roundings(), operands.len() as u32);
            let got = run(&plan, &operands);
            for ((got, want), magnitude) in got.iter().zip(&want).zip(&magnitude) {
                assert!((got - want).abs() <= bound * magnitude, "{} on {ranks}: {got} for {want}", network.name);
            }
        }
    }
}

/// If a plan without redistributions is best for the tree, it must be chosen even if a single step would be faster with
/// other distributions of its inputs.
#[test]
fn what_steps_would_like_is_not_forced_on_others() {
    let machine = Machine::new(2, 4);
    let shapes = [vec![4000, 1000], vec![1000, 1000], vec![1000, 5000]];
    let plan = |forbid_redistribution: bool| {
        let options = PlanOptions::default().forbid_redistribution(forbid_redistribution);
        let shaped = Problem::parse("[ij,jk->ik],kl->il").unwrap().shapes(&shapes).unwrap();
        shaped.plan(&machine, &options)
    };
    let free = plan(false).unwrap();
    assert!(!free.values.iter().any(|value| matches!(value.source, Source::Redistribute { .. })));
    assert_eq!(plan(true).unwrap().fingerprint(), free.fingerprint());
}
