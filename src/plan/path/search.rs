//! Orders by `omeco`.
//!
//! Its greedy search breaks ties by the order of a hash map, which no two runs share. So extents are given to it with
//! differences of one in 10^9, by which no two choices tie. Its annealing starts from a seed.
//!
//! Invariant: same network, same order. Deliberately absent: searches of our own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use omeco::greedy::{ContractionTree, tree_greedy};
use omeco::incidence_list::IncidenceList;
use omeco::treesa::Initializer;
use omeco::{EinCode, ExhaustiveSearch, NestedEinsum, ScoreFunction, TreeSA, optimize_exhaustive, optimize_treesa};

use super::cost::{distinct, log2_products};
use crate::dims::Label;
use crate::tree::{Network, Order};

/// Seconds that nobody notices.
pub const UNNOTICED: f64 = 5e-3;

/// More tensors than these are not annealed: it recurses as deep as a tree may be.
const MOST_ANNEALED: usize = 2_000;

/// More tensors than these are searched greedily once, fewer with several weights.
const MANY: usize = 3_000;

/// Temperatures of an annealing, and sweeps over the tree at each.
#[derive(Debug, Clone, Copy)]
pub struct Sweeps {
    temperatures: usize,
    each: usize,
}

/// For those who asked for annealing.
pub const PATIENT: Sweeps = Sweeps { temperatures: 100, each: 50 };

/// What annealing can do in so many seconds, unless that is too little.
pub fn sweeps(tensors: usize, seconds: f64) -> Option<Sweeps> {
    const SECONDS_PER_TENSOR: f64 = 1.5e-6;
    let temperatures = PATIENT.temperatures;
    let each = (seconds / (SECONDS_PER_TENSOR * (tensors * temperatures) as f64)) as usize;
    (each >= 2 && tensors <= MOST_ANNEALED).then_some(Sweeps { temperatures, each: each.min(PATIENT.each) })
}

/// How long exhaustive search may take.
pub fn exhaustive_seconds(tensors: usize) -> f64 {
    5e-8 * 3f64.powi(tensors.min(600) as i32)
}

/// An einsum, its tensors reduced to labels that somebody else needs, once each.
pub struct Search<'a> {
    network: &'a Network<'a>,
    /// Numbers of labels, as `omeco` wants them.
    tensors: Vec<Vec<u32>>,
    output: Vec<u32>,
}

impl<'a> Search<'a> {
    pub fn new(network: &'a Network<'a>) -> Search<'a> {
        let numbers = |labels: &[Label]| distinct(labels).into_iter().map(|label| label.0).collect::<Vec<u32>>();
        let mut tensors: Vec<Vec<u32>> = network.tensors.iter().map(|labels| numbers(labels)).collect();
        let output = numbers(network.output);
        let mut needed: HashMap<u32, usize> = HashMap::new();
        for &label in tensors.iter().flatten().chain(&output) {
            *needed.entry(label).or_default() += 1;
        }
        tensors.iter_mut().for_each(|labels| labels.retain(|label| needed[label] > 1));
        Search { network, tensors, output }
    }

    fn extent(&self, label: u32) -> usize {
        // Nothing is contracted where an extent is 0, in any order.
        self.network.extents[label as usize].max(1)
    }

    /// The cheapest of greedy orders with several weights of the operands' sizes.
    pub fn greedy(&self) -> Order {
        let weights: &[f64] = if self.tensors.len() > MANY { &[0.0] } else { &[0.0, 0.5, 1.0] };
        let orders = weights.iter().map(|&weight| {
            let order = self.greedy_with(weight);
            (log2_products(self.network, &order), order)
        });
        let best = orders.min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, order)| order).unwrap_or_default()
    }

    fn greedy_with(&self, weight: f64) -> Order {
        let mut order = Order::with_capacity(self.tensors.len());
        let mut results: Vec<(f64, usize)> = Vec::new();
        for component in self.components() {
            let labels: HashSet<u32> = component.iter().flat_map(|&tensor| &self.tensors[tensor]).copied().collect();
            let size = self.output.iter().filter(|label| labels.contains(label)).map(|&label| self.log2(label)).sum();
            results.push((size, self.component(&component, weight, &mut order)));
        }
        // What shares no label is multiplied at the end, the smallest first.
        let mut heap: BinaryHeap<Reverse<(Size, usize)>> =
            results.into_iter().map(|(size, tensor)| Reverse((Size(size), tensor))).collect();
        while let (Some(Reverse((Size(one), left))), Some(Reverse((Size(other), right)))) = (heap.pop(), heap.pop()) {
            order.push(vec![left, right]);
            let result = self.tensors.len() + order.len() - 1;
            heap.push(Reverse((Size(one + other), result)));
        }
        order
    }

    /// Tensors that are connected by labels.
    fn components(&self) -> Vec<Vec<usize>> {
        let mut holders: HashMap<u32, Vec<usize>> = HashMap::new();
        for (tensor, labels) in self.tensors.iter().enumerate() {
            labels.iter().for_each(|&label| holders.entry(label).or_default().push(tensor));
        }
        let mut seen = vec![false; self.tensors.len()];
        let mut components = Vec::new();
        for first in 0..self.tensors.len() {
            if std::mem::replace(&mut seen[first], true) {
                continue;
            }
            let mut component = vec![first];
            let mut next = 0;
            while let Some(&tensor) = component.get(next) {
                next += 1;
                for label in &self.tensors[tensor] {
                    for holder in holders.remove(label).into_iter().flatten() {
                        if !std::mem::replace(&mut seen[holder], true) {
                            component.push(holder);
                        }
                    }
                }
            }
            components.push(component);
        }
        components
    }

    /// Appends the order of one component, and returns the number of its result.
    fn component(&self, component: &[usize], weight: f64, order: &mut Order) -> usize {
        let edges = component.iter().map(|&tensor| (tensor, self.tensors[tensor].clone())).collect();
        let list = IncidenceList::new(edges, self.output.clone());
        let sizes = component.iter().flat_map(|&tensor| &self.tensors[tensor]);
        let sizes = sizes.map(|&label| (label, self.log2(label) + 1e-9 * unit(label))).collect();
        match tree_greedy(&list, &sizes, weight, 0.0) {
            Some(found) => self.append(Found::Greedy(found.tree), order),
            None => component[0],
        }
    }

    /// The order with the fewest operations among those that multiply tensors with a label in common.
    ///
    /// # Errors
    /// There are too many tensors or labels, or numbers overflow.
    pub fn optimal(&self) -> Result<Order, String> {
        let found = optimize_exhaustive(&self.code(), &self.sizes(), &ExhaustiveSearch::default());
        let tree = found.map_err(|error| format!("--path optimal: {error}"))?;
        let mut order = Order::with_capacity(self.tensors.len());
        self.append(Found::Nested(tree), &mut order);
        Ok(order)
    }

    pub fn anneal(&self, sweeps: Sweeps) -> Order {
        let Sweeps { temperatures, each } = sweeps;
        let settings = TreeSA {
            betas: (1..=temperatures).map(|step| 15.0 * step as f64 / temperatures as f64).collect(),
            ntrials: 1,
            niters: each,
            // The other one, greedy, is not the same in any two runs.
            initializer: Initializer::Random,
            score: ScoreFunction::default(),
            ..TreeSA::default()
        };
        let mut order = Order::with_capacity(self.tensors.len());
        match optimize_treesa(&self.code(), &self.sizes(), &settings) {
            Some(tree) => {
                self.append(Found::Nested(tree), &mut order);
                order
            }
            None => self.greedy(),
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

    /// Appends a tree's contractions, and returns the number of its result. Trees may be deep, so nothing recurses.
    fn append(&self, tree: Found, order: &mut Order) -> usize {
        let mut open = vec![Some(tree)];
        let mut done = Vec::new();
        while let Some(next) = open.pop() {
            match next.map(Found::split) {
                Some(Split::Leaf(tensor)) => done.push(tensor),
                Some(Split::Pair(left, right)) => open.extend([None, Some(right), Some(left)]),
                None => {
                    let pair = done.split_off(done.len() - 2);
                    order.push(pair);
                    done.push(self.tensors.len() + order.len() - 1);
                }
            }
        }
        done.pop().unwrap_or_default()
    }
}

/// The trees of `omeco`.
enum Found {
    Greedy(ContractionTree),
    Nested(NestedEinsum<u32>),
}

enum Split {
    Leaf(usize),
    Pair(Found, Found),
}

impl Found {
    fn split(self) -> Split {
        match self {
            Found::Greedy(ContractionTree::Leaf(tensor)) => Split::Leaf(tensor),
            Found::Greedy(ContractionTree::Node { left, right }) => {
                Split::Pair(Found::Greedy(*left), Found::Greedy(*right))
            }
            Found::Nested(NestedEinsum::Leaf { tensor_index }) => Split::Leaf(tensor_index),
            Found::Nested(NestedEinsum::Node { args, .. }) => {
                let mut args = args.into_iter().map(Found::Nested);
                match (args.next(), args.next()) {
                    (Some(left), Some(right)) => Split::Pair(left, right),
                    _ => unreachable!("searches for several tensors return binary trees"),
                }
            }
        }
    }
}

/// A size with an order; there are none that are no numbers.
#[derive(PartialEq)]
struct Size(f64);

impl Eq for Size {}

impl PartialOrd for Size {
    fn partial_cmp(&self, other: &Size) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Size {
    fn cmp(&self, other: &Size) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A number in [0, 1) that is another one for every label.
fn unit(label: u32) -> f64 {
    (f64::from(label) * 0.618_033_988_749_895).fract()
}
