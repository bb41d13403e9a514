//! The searches for contraction orders.
//!
//! Guarantee: the same network and budget give the same order, because budgets are numbers of steps and no clock is
//! read.

use std::collections::HashMap;
use std::ops::Range;

use super::Seconds;
use einsum_path::{Found, GreedyParameters, Labelled, Prepared, Price, Proof, Request, Settings, Solution};

use super::cost::{log2_peak, log2_products};
use super::positions::depth_first;
use crate::dims::{Label, distinct};
use crate::tree::{Network, Order};

/// Users do not notice such a search.
pub const UNNOTICED_SECONDS: f64 = 5e-3;

/// Maximum tensors for several weights and seeds.
const MAX_VARIED_TENSORS: usize = 3_000;

const MAX_TIE_ORDERS: u64 = 16;

/// Of the optimal search on one core. Measured 5.5 to 7.5 times 10^8.
const STEPS_PER_SECOND: f64 = 5e8;

/// Seconds of a greedy search per tensor and tie-breaking seed.
const GREEDY_SECONDS: f64 = 4e-6;

/// Reading or writing an element, in multiply-adds (measured, `docs/trees.md`).
pub const ELEMENT_PRICE: f64 = 0.05;

/// The same with a memory limit.
const SLICED_ELEMENT_PRICE: f64 = 2.0;

/// The seeds if the user selects greedy search.
pub fn patient_ties(tensors: usize) -> Range<u64> {
    0..if tensors > MAX_VARIED_TENSORS { 1 } else { MAX_TIE_ORDERS }
}

pub fn ties_within(tensors: usize, seconds: f64) -> u64 {
    (seconds / (GREEDY_SECONDS * tensors as f64)) as u64
}

pub fn steps_within(seconds: f64) -> u64 {
    (seconds * STEPS_PER_SECOND) as u64
}

/// A pessimistic estimate of the seconds to examine all orders.
pub fn exhaustive_seconds(tensors: usize) -> f64 {
    5e-8 * 3f64.powi(tensors.min(600) as i32)
}

pub struct Annealed {
    pub order: Order,
    pub sliced: Vec<Label>,
    pub found: Found,
}

/// An einsum whose tensors keep only distinct labels that another tensor or the output needs.
pub struct PathSearch<'a> {
    network: &'a Network<'a>,
    tensors: Vec<Vec<u32>>,
    output: Vec<u32>,
    log2: Vec<f64>,
    start: Option<Vec<[usize; 2]>>,
}

impl<'a> PathSearch<'a> {
    pub fn new(network: &'a Network<'a>, start: Option<&Order>) -> PathSearch<'a> {
        let numbers = |labels: &[Label]| distinct(labels).into_iter().map(|label| label.0).collect::<Vec<u32>>();
        let mut tensors: Vec<Vec<u32>> = network.tensors.iter().map(|labels| numbers(labels)).collect();
        let output = numbers(network.output);
        let mut needed: HashMap<u32, usize> = HashMap::new();
        for &label in tensors.iter().flatten().chain(&output) {
            *needed.entry(label).or_default() += 1;
        }
        tensors.iter_mut().for_each(|labels| labels.retain(|label| needed[label] > 1));
        // With an extent of 0, all orders cost the same.
        let log2 = network.extents.iter().map(|&extent| (extent.max(1) as f64).log2()).collect();
        let pair = |group: &Vec<usize>| <[usize; 2]>::try_from(group.as_slice()).ok();
        let start = start.and_then(|order| order.iter().map(pair).collect());
        PathSearch { network, tensors, output, log2, start }
    }

    fn labelled(&self) -> Labelled<'_> {
        Labelled { tensors: &self.tensors, output: &self.output, log2: &self.log2 }
    }

    /// The cheapest of several greedy orders, with different weights of the operands' sizes and seeds.
    pub fn greedy(&self, ties: Range<u64>) -> Order {
        let weights: &[f64] = if self.tensors.len() > MAX_VARIED_TENSORS { &[0.0] } else { &[0.0, 0.5, 1.0] };
        let parameters =
            ties.flat_map(|ties| weights.iter().map(move |&weight| GreedyParameters { weight, ties, noise: 0.0 }));
        let orders = parameters.map(|parameters| einsum_path::greedy(self.labelled(), parameters).1);
        self.cheapest(orders.map(|steps| depth_first(&steps, self.tensors.len())))
    }

    /// The order with the fewest operations, if found within `steps` and cheaper than `known`.
    pub fn optimal(&self, known: &Order, steps: u64) -> (Option<Order>, Proof) {
        let extents: Vec<usize> = self.network.extents.iter().map(|&extent| extent.max(1)).collect();
        let tensors = self.network.tensors.clone();
        let network = Network { tensors, output: self.network.output, extents: &extents };
        let cost = log2_products(&network, known);
        let (found, proof) = einsum_path::optimal(self.labelled(), cost, steps);
        let found = found.map(|steps| depth_first(&steps, self.tensors.len()));
        let better = found.filter(|order| log2_products(&network, order) < cost - 1e-9);
        (better, proof)
    }

    pub fn cheapest(&self, orders: impl IntoIterator<Item = Order>) -> Order {
        let priced = orders.into_iter().map(|order| (log2_products(self.network, &order), order));
        priced.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, order)| order).unwrap_or_default()
    }

    /// Anneals from many starts. `element` is the price of an element without a limit, `elements` is log2 of the
    /// elements of intermediates that fit, and `limit` that of a result in one slice; both are infinite if nothing is
    /// sliced.
    pub fn anneal(&self, element: f64, [limit, elements]: [f64; 2], budget: &Seconds, threads: usize) -> Annealed {
        let tensors = self.network.tensors.iter().map(|labels| labels.iter().map(|label| label.0).collect()).collect();
        let output = self.network.output.iter().map(|label| label.0).collect();
        let extents = self.network.extents.to_vec();
        let prepared = Prepared::new(&einsum_path::Network { tensors, output, extents });
        let element = if limit.is_finite() { SLICED_ELEMENT_PRICE } else { element };
        let settings = Settings { price: Price { element, step: 0.0 }, limit };
        let of = |solution: &Solution| {
            let sliced = solution.sliced.iter().map(|&at| Label(prepared.originals[at])).collect::<Vec<Label>>();
            (depth_first(&solution.steps, self.tensors.len()), sliced)
        };
        let excess = |solution: &Solution| {
            if elements.is_infinite() {
                return 0.0;
            }
            let (order, sliced) = of(solution);
            log2_peak(self.network, &order, &sliced) - elements
        };
        let known = self.start.iter().filter(|_| limit.is_finite()).cloned().collect();
        let found = einsum_path::search(&prepared, settings, Request { threads, budget, known, excess: &excess });
        let (order, sliced) = found.solutions.first().map(of).unwrap_or_default();
        Annealed { order, sliced, found }
    }
}
