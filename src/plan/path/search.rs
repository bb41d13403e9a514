//! Runs the searches for contraction orders. `greedy` finds greedy orders, `optimal` finds the optimal order, and the
//! crate `omeco` anneals orders from a fixed seed.
//!
//! Guarantee: the same network and budget give the same order on all ranks, because budgets in seconds are converted to
//! numbers of steps and no clock is read.

use std::collections::HashMap;
use std::ops::Range;

use omeco::treesa::Initializer;
use omeco::{EinCode, NestedEinsum, ScoreFunction, TreeSA, optimize_treesa};

use super::cost::{distinct, log2_products};
use super::greedy::{GreedyParameters, greedy};
use super::optimal::{self, Labelled, Proof};
use crate::dims::Label;
use crate::tree::{Network, Order};

/// Users do not notice a search that takes at most this many seconds.
pub const UNNOTICED_SECONDS: f64 = 5e-3;

/// Maximum number of tensors that are annealed, because annealing recurses to the depth of the tree.
pub const MAX_ANNEALED_TENSORS: usize = 2_000;

/// Maximum number of tensors for which a greedy search tries several weights and tie-breaking seeds. Larger networks
/// are searched once.
const MAX_VARIED_TENSORS: usize = 3_000;

pub const MAX_TIE_ORDERS: u64 = 16;

/// Number of steps that the optimal search makes per second on one core. Measurements on networks of 20 to 125 tensors
/// gave 5.5 to 7.5 times 10^8, and the constant is slightly below these.
const STEPS_PER_SECOND: f64 = 5e8;

/// Seconds that a greedy search takes per tensor and tie-breaking seed.
const GREEDY_SECONDS: f64 = 4e-6;

/// Number of annealing temperatures, and number of sweeps over the tree at each temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweeps {
    temperatures: usize,
    pub each: usize,
}

/// The numbers of temperatures and sweeps if the user selects annealing.
pub const LONG_SWEEPS: Sweeps = Sweeps { temperatures: 100, each: 50 };

/// The tie-breaking seeds that a greedy search tries if the user selects greedy search.
pub fn patient_ties(tensors: usize) -> Range<u64> {
    0..if tensors > MAX_VARIED_TENSORS { 1 } else { MAX_TIE_ORDERS }
}

/// The tie-breaking seeds after seed 0 that a greedy search can try within `seconds`; `None` if there is no time for a
/// further seed.
pub fn more_ties(tensors: usize, seconds: f64) -> Option<Range<u64>> {
    let more = ties_within(tensors, seconds);
    (more > 0).then_some(1..MAX_TIE_ORDERS.min(1 + more))
}

/// Number of tie-breaking seeds that a greedy search can try within `seconds`.
pub fn ties_within(tensors: usize, seconds: f64) -> u64 {
    (seconds / (GREEDY_SECONDS * tensors as f64)) as u64
}

/// Number of steps that the optimal search makes in `seconds`.
pub fn steps_within(seconds: f64) -> u64 {
    (seconds * STEPS_PER_SECOND) as u64
}

/// The sweeps that fit into `seconds`; `None` if fewer than two per temperature fit, or if there are too many tensors.
pub fn sweeps(tensors: usize, seconds: f64) -> Option<Sweeps> {
    const SECONDS_PER_TENSOR: f64 = 1.5e-6;
    let temperatures = LONG_SWEEPS.temperatures;
    let each = (seconds / (SECONDS_PER_TENSOR * (tensors * temperatures) as f64)) as usize;
    (each >= 2 && tensors <= MAX_ANNEALED_TENSORS).then_some(Sweeps { temperatures, each: each.min(LONG_SWEEPS.each) })
}

/// A pessimistic estimate of the seconds needed to examine all orders.
pub fn exhaustive_seconds(tensors: usize) -> f64 {
    5e-8 * 3f64.powi(tensors.min(600) as i32)
}

/// An einsum prepared for the searches. Each tensor keeps only its distinct labels that another tensor or the output
/// needs.
pub struct PathSearch<'a> {
    network: &'a Network<'a>,
    /// The labels of each tensor, as numbers because `omeco` expects numbers.
    tensors: Vec<Vec<u32>>,
    output: Vec<u32>,
}

impl<'a> PathSearch<'a> {
    pub fn new(network: &'a Network<'a>) -> PathSearch<'a> {
        let numbers = |labels: &[Label]| distinct(labels).into_iter().map(|label| label.0).collect::<Vec<u32>>();
        let mut tensors: Vec<Vec<u32>> = network.tensors.iter().map(|labels| numbers(labels)).collect();
        let output = numbers(network.output);
        let mut needed: HashMap<u32, usize> = HashMap::new();
        for &label in tensors.iter().flatten().chain(&output) {
            *needed.entry(label).or_default() += 1;
        }
        tensors.iter_mut().for_each(|labels| labels.retain(|label| needed[label] > 1));
        PathSearch { network, tensors, output }
    }

    fn extent(&self, label: u32) -> usize {
        // An extent of 0 is treated as 1. If an extent is 0, there are no operations, so all orders cost the same.
        self.network.extents[label as usize].max(1)
    }

    /// Returns the cheapest of several greedy orders. The orders differ in the weight of the operands' sizes, and in
    /// the seed that breaks ties.
    pub fn greedy(&self, ties: Range<u64>) -> Order {
        let weights: &[f64] = if self.tensors.len() > MAX_VARIED_TENSORS { &[0.0] } else { &[0.0, 0.5, 1.0] };
        let log2: Vec<f64> = (0..self.network.extents.len() as u32).map(|label| self.log2(label)).collect();
        let parameter_sets = ties.flat_map(|ties| weights.iter().map(move |&weight| GreedyParameters { weight, ties }));
        self.cheapest(
            parameter_sets
                .map(|parameters| greedy(&self.tensors, &self.output, &|label| log2[label as usize], parameters)),
        )
    }

    /// Searches for the order with the fewest operations. Returns the order if it is found within `steps` steps and is
    /// cheaper than `known`, and the outcome of the search.
    pub fn optimal(&self, known: &Order, steps: u64) -> (Option<Order>, Proof) {
        let extents: Vec<usize> = self.network.extents.iter().map(|&extent| extent.max(1)).collect();
        let tensors = self.network.tensors.clone();
        let network = Network { tensors, output: self.network.output, extents: &extents };
        let cost = log2_products(&network, known);
        let log2: Vec<f64> = (0..extents.len() as u32).map(|label| self.log2(label)).collect();
        let labelled = Labelled { tensors: &self.tensors, output: &self.output, log2: &|label| log2[label as usize] };
        let (found, proof) = optimal::optimal(labelled, cost, steps);
        let better = found.filter(|order| log2_products(&network, order) < cost - 1e-9);
        (better, proof)
    }

    pub fn cheapest(&self, orders: impl IntoIterator<Item = Order>) -> Order {
        let priced = orders.into_iter().map(|order| (log2_products(self.network, &order), order));
        priced.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, order)| order).unwrap_or_default()
    }

    pub fn anneal(&self, sweeps: Sweeps) -> Order {
        let Sweeps { temperatures, each } = sweeps;
        let settings = TreeSA {
            betas: (1..=temperatures).map(|step| 15.0 * step as f64 / temperatures as f64).collect(),
            ntrials: 1,
            niters: each,
            // The greedy initializer of `omeco` is not used because its result differs from run to run.
            initializer: Initializer::Random,
            score: ScoreFunction::default(),
            ..TreeSA::default()
        };
        let mut order = Order::with_capacity(self.tensors.len());
        match optimize_treesa(&self.code(), &self.sizes(), &settings) {
            Some(tree) => {
                self.append(tree, &mut order);
                order
            }
            None => self.greedy(0..1),
        }
    }

    fn code(&self) -> EinCode<u32> {
        EinCode::new(self.tensors.clone(), self.output.clone())
    }

    fn log2(&self, label: u32) -> f64 {
        (self.extent(label) as f64).log2()
    }

    fn sizes(&self) -> HashMap<u32, usize> {
        self.tensors.iter().flatten().map(|&label| (label, self.extent(label))).collect()
    }

    /// Appends the contractions of a tree. Avoids recursion, because trees may be deep.
    fn append(&self, tree: NestedEinsum<u32>, order: &mut Order) {
        let mut open = vec![Some(tree)];
        let mut done = Vec::new();
        while let Some(next) = open.pop() {
            match next {
                Some(NestedEinsum::Leaf { tensor_index }) => done.push(tensor_index),
                Some(NestedEinsum::Node { args, .. }) => {
                    // Every inner node has two inputs, because searches over several tensors return binary trees.
                    open.push(None);
                    open.extend(args.into_iter().rev().map(Some));
                }
                None => {
                    let pair = done.split_off(done.len() - 2);
                    order.push(pair);
                    done.push(self.tensors.len() + order.len() - 1);
                }
            }
        }
    }
}
