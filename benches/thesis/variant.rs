//! Compiles one way to contract a case, and stores its operands and its result in the distributions of the plan.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use einsum_dist::plan::AlgorithmName;
use einsum_dist::{DistTensor, Machine, Plan, PlanOptions, Problem, Program, World};
use serde::{Deserialize, Serialize};

use super::case::Size;
use super::digest::digest;

/// Names and algorithms of all variants. These are `auto`, and each algorithm that runs on this number of ranks.
pub fn asked(ranks: usize) -> Vec<(&'static str, Option<AlgorithmName>)> {
    let all = AlgorithmName::ALL.into_iter().filter(|algorithm| algorithm.ranks().allows(ranks));
    [("auto", None)].into_iter().chain(all.map(|algorithm| (algorithm.name(), Some(algorithm)))).collect()
}

/// Properties of a variant that are known before it is timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantSummary {
    /// Hash of the schedules of all ranks. Two algorithms that result in the same schedules have the same hash.
    pub work: u64,
    /// The algorithm, and the distributions of `left`, `right` and `out`.
    pub plan: String,
    pub gflop: f64,
    /// Digest of the result. Empty on processes without rank 0.
    pub digest: Vec<f64>,
}

pub struct Variant {
    world: World,
    program: Program<f32>,
    left: DistTensor<f32>,
    right: DistTensor<f32>,
    out: DistTensor<f32>,
    pub summary: VariantSummary,
}

impl Variant {
    /// Compiles the variant and runs it once. `None` if the algorithm does not apply. Collective.
    pub fn new(world: &World, machine: &Machine, size: &Size, algorithm: Option<AlgorithmName>) -> Option<Variant> {
        let options = PlanOptions::default().algorithm(algorithm);
        let shaped = Problem::parse(size.case.expression).and_then(|problem| problem.shapes(&size.shapes()));
        let plan = shaped.expect("a contraction").plan(machine, &options).ok()?;
        // Times are comparable only if no variant starts or ends with replicas.
        let once =
            |value: &einsum_dist::plan::Value| value.distribution.replicas() * value.distribution.summands() == 1;
        assert!([plan.operand(0), plan.operand(1), plan.output()].into_iter().all(once), "every tensor is there once");
        let operand = |index: usize| {
            DistTensor::random(world, &plan.operand_shape(index), &plan.operand(index).distribution, 1, index as u32)
        };
        let (left, right) = (operand(0), operand(1));
        let out = DistTensor::zeros(world, &plan.output_shape(), &plan.output().distribution);
        let summary =
            VariantSummary { work: work(&plan), plan: described(&plan), gflop: plan.total_gflop(), digest: Vec::new() };
        let program = world.compile(&plan).expect("a program");
        let mut variant = Variant { world: world.clone(), program, left, right, out, summary };
        variant.run();
        variant.summary.digest = digest(world, &variant.out);
        Some(variant)
    }

    /// Seconds per run. This is the time of a single run, or the mean of several runs after an untimed one.
    pub fn turn(&mut self, runs: usize) -> f64 {
        if runs > 1 {
            self.run();
        }
        (0..runs).map(|_| self.run()).sum::<f64>() / runs as f64
    }

    /// Seconds of one run on the ranks of this process.
    fn run(&mut self) -> f64 {
        // A barrier is needed, because processes do not receive their turn at the same time.
        self.world.all_gather(&[]).expect("all ranks");
        let start = Instant::now();
        self.program.run_dist(1.0, &[&self.left, &self.right], 0.0, &mut self.out).expect("a run");
        start.elapsed().as_secs_f64()
    }
}

fn work(plan: &Plan) -> u64 {
    let schedules =
        (0..plan.ranks()).map(|rank| serde_json::to_string(&plan.schedule(rank)).expect("numbers and text"));
    let mut hasher = DefaultHasher::new();
    schedules.for_each(|schedule| schedule.hash(&mut hasher));
    hasher.finish()
}

fn described(plan: &Plan) -> String {
    let nodes = plan.report(None).nodes;
    let how = nodes.iter().filter_map(|node| node.algorithm).collect::<Vec<_>>().join(" ");
    let distributions = [plan.operand(0), plan.operand(1), plan.output()].map(|value| plan.placement(value));
    format!("{how}: {}; {}; {}", distributions[0], distributions[1], distributions[2])
}
