//! Greedy search: of all pairs of tensors with a common label, the one with the lowest score is contracted first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::network::Labelled;
use crate::random::{Random, gumbel};

/// How pairs are scored.
#[derive(Debug, Clone, Copy)]
pub struct GreedyParameters {
    /// A pair's score is the elements of its result, minus this factor times those of the pair itself.
    pub weight: f64,
    /// Seed for the noise, and for the order of equal scores, which matters in regular networks.
    pub ties: u64,
    /// Temperature of the noise added to the score's logarithm.
    pub noise: f64,
}

/// Maximum holders of a label with which a tensor is paired, those that follow in cyclic order of their numbers.
/// Evaluating all pairs of thousands of tensors would take minutes.
const PARTNERS_PER_LABEL: usize = 32;

/// The cheapest of several greedy orders, with random parameters in the ranges of cotengra's random greedy search.
pub fn best_of_random(network: Labelled, tries: usize, random: &mut Random) -> Vec<[usize; 2]> {
    let tried = (0..tries.max(1)).map(|_| {
        let scale = 0.5 + 3.5 * random.uniform();
        let noise = 1e-3 * 300f64.powf(random.uniform());
        greedy(network, GreedyParameters { weight: scale * scale, ties: random.next(), noise })
    });
    tried.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, steps)| steps).unwrap_or_default()
}

/// Returns an order's approximate multiply-adds and its contractions.
///
/// Cost: O(l p log p) for p pairs with a common label and l labels per tensor.
pub fn greedy(given: Labelled, parameters: GreedyParameters) -> (f64, Vec<[usize; 2]>) {
    let tensors = given.tensors;
    let mut products = 0.0;
    let mut network = Network::new(given);
    let mut pairs = BinaryHeap::new();
    for left in 0..tensors.len() {
        let neighbours = network.neighbours(left).into_iter().filter(|&right| right > left);
        pairs.extend(neighbours.map(|right| Reverse(network.ranked(left, right, parameters))));
    }
    let mut steps: Vec<[usize; 2]> = Vec::with_capacity(tensors.len());
    while let Some(Reverse((_, _, [left, right]))) = pairs.pop() {
        if !network.has(left) || !network.has(right) {
            continue;
        }
        products += network.pair_sizes(left, right)[1].exp2();
        let result = network.contract(left, right);
        steps.push([left, right]);
        let neighbours = network.neighbours(result).into_iter();
        pairs.extend(neighbours.map(|other| Reverse(network.ranked(other, result, parameters))));
    }
    // Tensors without common labels come last, smallest first.
    let left_over = (0..network.labels.len()).filter(|&tensor| network.has(tensor));
    let left_over = left_over.map(|tensor| (network.sizes[tensor], tensor)).collect();
    multiply(left_over, tensors.len(), &mut steps);
    (products, steps)
}

/// Multiplies tensors into one, smallest first. `sizes` has each tensor's log2 of elements, and number. Returns log2 of
/// each product's multiply-adds.
pub fn multiply(sizes: Vec<(f64, usize)>, tensors: usize, steps: &mut Vec<[usize; 2]>) -> Vec<f64> {
    let mut products = Vec::new();
    let mut left_over: BinaryHeap<Reverse<(Size, usize)>> =
        sizes.into_iter().map(|(log2, tensor)| Reverse((Size(log2), tensor))).collect();
    while let (Some(Reverse((one, left))), Some(Reverse((other, right)))) = (left_over.pop(), left_over.pop()) {
        steps.push([left, right]);
        products.push(one.0 + other.0);
        left_over.push(Reverse((Size(one.0 + other.0), tensors + steps.len() - 1)));
    }
    products
}

struct Network<'a> {
    log2: &'a [f64],
    /// Each tensor's labels, ascending; `None` if contracted.
    labels: Vec<Option<Vec<u32>>>,
    sizes: Vec<f64>,
    /// Each label's tensors, ascending, after `OUTPUT` (a tensor that is never contracted) if the output has it.
    holders: Vec<Vec<usize>>,
}

const OUTPUT: usize = usize::MAX;

impl<'a> Network<'a> {
    fn new(Labelled { tensors, output, log2 }: Labelled<'a>) -> Network<'a> {
        let count = tensors.iter().flatten().chain(output).max().map_or(0, |&last| last as usize + 1);
        let labels = Vec::with_capacity(2 * tensors.len());
        let mut network = Network { log2, labels, sizes: Vec::new(), holders: vec![Vec::new(); count] };
        output.iter().for_each(|&label| network.holders[label as usize].push(OUTPUT));
        for labels in tensors {
            let mut labels = labels.clone();
            labels.sort_unstable();
            network.insert(labels);
        }
        network
    }

    fn has(&self, tensor: usize) -> bool {
        self.labels[tensor].is_some()
    }

    fn labels(&self, tensor: usize) -> &[u32] {
        self.labels[tensor].as_deref().unwrap_or_default()
    }

    fn insert(&mut self, labels: Vec<u32>) -> usize {
        let tensor = self.labels.len();
        labels.iter().for_each(|&label| self.holders[label as usize].push(tensor));
        self.sizes.push(labels.iter().map(|&label| self.log2[label as usize]).sum());
        self.labels.push(Some(labels));
        tensor
    }

    fn place(&self, label: u32, tensor: usize) -> usize {
        self.holders[label as usize].partition_point(|&holder| holder == OUTPUT || holder < tensor)
    }

    fn neighbours(&self, tensor: usize) -> Vec<usize> {
        let near = |&label: &u32| {
            let (before, after) = self.holders[label as usize].split_at(self.place(label, tensor));
            after[1..].iter().chain(before).copied().filter(|&other| other != OUTPUT).take(PARTNERS_PER_LABEL)
        };
        let mut others: Vec<usize> = self.labels(tensor).iter().flat_map(near).collect();
        others.sort_unstable();
        others.dedup();
        others
    }

    fn result(&self, left: usize, right: usize) -> impl Iterator<Item = u32> {
        let needed =
            move |label: &u32| self.holders[*label as usize].iter().any(|&holder| holder != left && holder != right);
        let (mut one, mut other) = (self.labels(left).iter().peekable(), self.labels(right).iter().peekable());
        let merged = std::iter::from_fn(move || match (one.peek(), other.peek()) {
            (Some(a), Some(b)) if a == b => {
                other.next();
                one.next()
            }
            (Some(a), Some(b)) if a < b => one.next(),
            (_, Some(_)) => other.next(),
            (_, None) => one.next(),
        });
        merged.copied().filter(needed)
    }

    /// log2 of the elements of a pair's result, and of the space of all its labels. Cost: a binary search per label of
    /// the tensor with fewer labels.
    fn pair_sizes(&self, left: usize, right: usize) -> [f64; 2] {
        let swap = self.labels(left).len() > self.labels(right).len();
        let (few, many) = if swap { (right, left) } else { (left, right) };
        let many_labels = self.labels(many);
        let (mut common, mut summed) = (0.0, 0.0);
        for &label in self.labels(few).iter().filter(|label| many_labels.binary_search(label).is_ok()) {
            common += self.log2[label as usize];
            if self.holders[label as usize].len() == 2 {
                summed += self.log2[label as usize];
            }
        }
        let all = self.sizes[left] + self.sizes[right] - common;
        // Equal sizes must stay equal, in whatever order they were summed.
        [all - summed, all].map(|size| (size * 1048576.0).round() / 1048576.0)
    }

    fn ranked(&self, left: usize, right: usize, parameters: GreedyParameters) -> (Size, u64, [usize; 2]) {
        let pair = [left, right];
        let numbers = pair.map(|tensor| (tensor as u64).to_le_bytes());
        let tie = xxh3_64_with_seed(numbers.as_flattened(), parameters.ties);
        let score = self.score(left, right, parameters.weight);
        if parameters.noise == 0.0 {
            return (Size(score), tie, pair);
        }
        // The score's logarithm, with its sign.
        let logarithm = score.signum() * score.abs().max(f64::MIN_POSITIVE).ln();
        (Size(logarithm - parameters.noise * gumbel(tie)), tie, pair)
    }

    fn score(&self, left: usize, right: usize, weight: f64) -> f64 {
        let result = self.pair_sizes(left, right)[0].exp2();
        if weight == 0.0 || result.is_infinite() {
            return result;
        }
        result - weight * (self.sizes[left].exp2() + self.sizes[right].exp2())
    }

    fn contract(&mut self, left: usize, right: usize) -> usize {
        let result = self.result(left, right).collect();
        for tensor in [left, right] {
            for label in self.labels[tensor].take().unwrap_or_default() {
                let place = self.place(label, tensor);
                self.holders[label as usize].remove(place);
            }
        }
        self.insert(result)
    }
}

/// Never NaN, so it has a total order.
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

#[cfg(test)]
mod tests;
