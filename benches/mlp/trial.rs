//! Plans and runs one triple of distributions (one each for `left`, `right` and `out`), and stores its predicted time
//! and its measurements.

use std::collections::BTreeMap;
use std::time::Instant;

use einsum_dist::algorithm::{Algorithm, Chunks, Slicing, Stationary};
use einsum_dist::plan::{AlgorithmName, FixedDistributions, Source};
use einsum_dist::{DistTensor, Machine, Plan, PlanOptions, Problem, World};

use super::digest::digest;

const EXPRESSION: &str = "mk,kn->mn";

/// The three matrices, in every distribution that a trial has used. Keeping them is cheap, because a matrix has far
/// fewer distributions than there are triples of distributions.
#[derive(Default)]
pub struct Matrices(BTreeMap<(usize, String), DistTensor<f32>>);

pub struct Trial {
    /// Distributions of `left`, `right` and `out`.
    pub distributions: [String; 3],
    pub plan: Plan,
    /// Seconds predicted by the cost model. `None` unless the planner itself chose the stationary matrix.
    pub predicted: Option<f64>,
    /// Seconds that the simulated schedules take.
    pub simulated: f64,
    /// Planned number of bytes that each rank receives.
    pub planned: Vec<u64>,
    pub measured: Vec<u64>,
    pub seconds: Vec<f64>,
}

impl Trial {
    pub fn new(machine: &Machine, [m, n, k]: [usize; 3], distributions: [String; 3]) -> Trial {
        let fixed = FixedDistributions::parse(&distributions.join(";"), &[&["m", "k"], &["k", "n"], &["m", "n"]]);
        let fixed = fixed.expect("distributions of matrices");
        let options = PlanOptions::default().algorithm(AlgorithmName::Slicing).fixed(fixed);
        let shaped = Problem::parse(EXPRESSION).and_then(|problem| problem.shapes(&[vec![m, k], vec![k, n]]));
        let plan = shaped.and_then(|shaped| shaped.plan(machine, &options)).expect("slicing always applies");
        assert_eq!(plan.values.len(), 3, "one step, and nothing is redistributed");
        let predicted = Some(plan.output().seconds);
        Trial::of(distributions, plan, predicted)
    }

    fn of(distributions: [String; 3], plan: Plan, predicted: Option<f64>) -> Trial {
        let simulated = plan.simulate().map_or(f64::NAN, |simulation| simulation.seconds);
        let planned = (0..plan.ranks()).map(|rank| plan.schedule(rank).bytes_received()).collect();
        Trial { distributions, plan, predicted, simulated, planned, measured: Vec::new(), seconds: Vec::new() }
    }

    /// Returns a trial of the same three distributions with the given stationary matrix.
    pub fn with(&self, stationary: Stationary) -> Trial {
        let mut plan = self.plan.clone();
        let predicted = self.predicted.filter(|_| stationary == self.stationary());
        if let Some(Source::Contract { algorithm, .. }) = plan.values.last_mut().map(|value| &mut value.source) {
            *algorithm = Algorithm::Slicing(Slicing { stationary, chunks: Chunks::default() });
        }
        Trial::of(self.distributions.clone(), plan, predicted)
    }

    pub fn stationary(&self) -> Stationary {
        match self.plan.output().source {
            Source::Contract { algorithm: Algorithm::Slicing(Slicing { stationary, .. }), .. } => stationary,
            _ => unreachable!("slicing was asked for"),
        }
    }

    /// Runs the plan once untimed and once timed. If `digested` is true, returns the digest of the result.
    pub fn run(&mut self, world: &World, matrices: &mut Matrices, digested: bool) -> Option<Vec<f64>> {
        let [left, right, mut out] = [0, 1, 2].map(|at| {
            let value = if at < 2 { self.plan.operand(at) } else { self.plan.output() };
            let make = || DistTensor::random(world, &value.shape, &value.distribution, 1, at as u32);
            // Each matrix is removed from the map during the run, so that the result can be borrowed mutably while the
            // operands are read.
            matrices.0.remove(&(at, self.distributions[at].clone())).unwrap_or_else(make)
        });
        let mut program = world.compile::<f32>(&self.plan).expect("a program");
        let mut run = || {
            let start = Instant::now();
            program.run_dist(1.0, &[&left, &right], 0.0, &mut out).expect("a run");
            start.elapsed().as_secs_f64()
        };
        run();
        self.seconds.push(run());
        let measured = program.measured().expect("measurements of a run");
        self.measured = measured.iter().map(|rank| rank.received.iter().sum()).collect();
        let digest = digested.then(|| digest(world, &out));
        for (at, matrix) in [left, right, out].into_iter().enumerate() {
            matrices.0.insert((at, self.distributions[at].clone()), matrix);
        }
        digest
    }

    pub fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }

    /// Whether every rank received exactly the planned number of bytes.
    pub fn moved_as_planned(&self) -> bool {
        self.planned == self.measured
    }
}
