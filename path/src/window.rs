//! Improves a large network's contraction tree in windows: a contraction, and about a hundred nodes below it, annealed
//! as tensors of a small network.
//!
//! Invariant: a window never makes the tree more expensive.

use crate::chain::{Chain, MAX_WORDS_AT_ONCE, Settings, Solution, Start};
use crate::effort;
use crate::network::Prepared;
use crate::random::Random;
use crate::tree::{NONE, bottom_up, steps};

/// The least relative gain of a window, above the errors of `fast_math`.
const LEAST_GAIN: f64 = 1e-3;

pub struct Large<'a> {
    network: &'a Prepared,
    settings: Settings,
    children: Vec<[u32; 2]>,
    parent: Vec<u32>,
    /// Each node's labels, and the number of tensors below it with each.
    labels: Vec<Vec<(u32, u32)>>,
    cost: Vec<f64>,
    pub effort: f64,
}

impl<'a> Large<'a> {
    pub fn new(network: &'a Prepared, steps: &[[usize; 2]], settings: Settings) -> Large<'a> {
        let leaves = network.tensors.len();
        let count = leaves + steps.len();
        let mut large = Large {
            network,
            settings,
            children: vec![[NONE; 2]; count],
            parent: vec![NONE; count],
            labels: network.tensors.iter().map(|labels| labels.iter().map(|&label| (label, 1)).collect()).collect(),
            cost: vec![0.0; count],
            effort: 0.0,
        };
        large.labels.resize(count, Vec::new());
        for (at, pair) in steps.iter().enumerate() {
            let node = leaves + at;
            large.children[node] = pair.map(|child| child as u32);
            pair.iter().for_each(|&child| large.parent[child] = node as u32);
            large.measure(node);
        }
        large
    }

    fn log2(&self, labels: &[(u32, u32)]) -> f64 {
        labels.iter().map(|&(label, _)| self.network.log2[label as usize]).sum()
    }

    fn measure(&mut self, node: usize) {
        let [left, right] = self.children[node].map(|child| &self.labels[child as usize]);
        let mut union: Vec<(u32, u32)> = Vec::with_capacity(left.len() + right.len());
        let (mut i, mut j) = (0, 0);
        while i < left.len() || j < right.len() {
            let next = match (left.get(i), right.get(j)) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    (i, j) = (i + 1, j + 1);
                    (a.0, a.1 + b.1)
                }
                (Some(a), b) if b.is_none_or(|b| a.0 < b.0) => {
                    i += 1;
                    *a
                }
                (_, b) => {
                    j += 1;
                    b.copied().unwrap_or_default()
                }
            };
            union.push(next);
        }
        let size = |log2: f64| log2.min(1000.0).exp2();
        let products = size(self.log2(&union));
        let operands = size(self.log2(left)) + size(self.log2(right));
        union.retain(|&(label, count)| count < self.network.holders[label as usize]);
        let price = self.settings.price;
        self.cost[node] = products + price.element * (operands + size(self.log2(&union))) + price.step;
        self.labels[node] = union;
    }

    fn total(&self) -> f64 {
        self.cost.iter().sum()
    }

    /// Anneals one window of at most `size` tensors for some nominal seconds. Returns whether the tree became cheaper.
    pub fn improve(&mut self, size: usize, seconds: f64, random: &mut Random) -> bool {
        let root = self.pick(random);
        let (frontier, inner) = self.window(root, size);
        self.effort += seconds + effort::WINDOW * frontier.len() as f64;
        if frontier.len() < 4 {
            return false;
        }
        let names = |node: usize| self.labels[node].iter().map(|&(label, _)| label).collect::<Vec<u32>>();
        let part = self.network.part(frontier.iter().map(|&node| names(node)).collect(), Some(names(root)));
        if part.labels().div_ceil(64) > MAX_WORDS_AT_ONCE {
            return false;
        }
        let start = Start::From(Solution::unpriced(self.steps_of(&frontier, &inner)));
        let chain = Chain { start, seed: random.next(), hot: 1.0 + 5.0 * random.uniform(), seconds };
        let settings = Settings { limit: f64::INFINITY, ..self.settings };
        let found = chain.run(&part, settings);
        let before: f64 = inner.iter().map(|&node| self.cost[node]).sum();
        if found.price.exp2() >= before * (1.0 - LEAST_GAIN) {
            return false;
        }
        self.splice(&frontier, &inner, &found.steps);
        true
    }

    /// An expensive contraction, or an ancestor of one.
    fn pick(&self, random: &mut Random) -> usize {
        let leaves = self.network.tensors.len();
        let mut best = (f64::NEG_INFINITY, leaves);
        // Some nodes suffice, because windows are large.
        for _ in 0..64 {
            let node = leaves + random.below(self.children.len() - leaves);
            let score = self.cost[node].log2() + 4.0 * random.gumbel();
            if score > best.0 {
                best = (score, node);
            }
        }
        let mut node = best.1;
        for _ in 0..random.below(12) {
            match self.parent[node] {
                NONE => break,
                parent => node = parent as usize,
            }
        }
        node
    }

    /// The nodes below `root` that are the window's tensors, and its contractions, parents first.
    fn window(&self, root: usize, size: usize) -> (Vec<usize>, Vec<usize>) {
        let leaves = self.network.tensors.len();
        let key = |node: usize| ((self.cost[node].log2() * 1e6) as i64, node);
        let mut open = std::collections::BinaryHeap::from([key(root)]);
        let (mut frontier, mut inner) = (Vec::new(), Vec::new());
        while let Some((_, node)) = open.pop() {
            inner.push(node);
            for child in self.children[node].map(|child| child as usize) {
                if child >= leaves { open.push(key(child)) } else { frontier.push(child) }
            }
            if frontier.len() + open.len() >= size {
                break;
            }
        }
        frontier.extend(open.into_iter().map(|(_, node)| node));
        (frontier, inner)
    }

    fn steps_of(&self, frontier: &[usize], inner: &[usize]) -> Vec<[usize; 2]> {
        let mut numbers: std::collections::HashMap<usize, usize> =
            frontier.iter().enumerate().map(|(at, &node)| (node, at)).collect();
        let mut steps = Vec::with_capacity(inner.len());
        // A child was opened after its parent, so the reverse order has children first.
        for &node in inner.iter().rev() {
            steps.push(self.children[node].map(|child| numbers[&(child as usize)]));
            numbers.insert(node, frontier.len() + steps.len() - 1);
        }
        steps
    }

    fn splice(&mut self, frontier: &[usize], inner: &[usize], steps: &[[usize; 2]]) {
        let mut numbers = frontier.to_vec();
        for (at, pair) in steps.iter().enumerate() {
            let node = inner[inner.len() - 1 - at];
            let children = pair.map(|child| numbers[child]);
            self.children[node] = children.map(|child| child as u32);
            children.iter().for_each(|&child| self.parent[child] = node as u32);
            self.measure(node);
            numbers.push(node);
        }
    }

    pub fn solution(&self) -> Solution {
        let leaves = self.network.tensors.len();
        // The last node remains the tree's root.
        let root = self.children.len() - 1;
        let (mut products, mut elements, mut largest) = (0.0f64, 0.0f64, 0.0f64);
        for node in bottom_up(&self.children, leaves).into_iter().filter(|&node| node >= leaves) {
            let [left, right] = self.children[node].map(|child| child as usize);
            let [one, other] = [left, right].map(|child| self.log2(&self.labels[child]));
            let common = self.labels[left]
                .iter()
                .filter(|(label, _)| self.labels[right].binary_search_by_key(label, |&(other, _)| other).is_ok());
            let common: f64 = common.map(|&(label, _)| self.network.log2[label as usize]).sum();
            products += (one + other - common).min(1000.0).exp2();
            let result = self.log2(&self.labels[node]);
            elements += [one, other, result].map(|size| size.min(1000.0).exp2()).iter().sum::<f64>();
            if node != root {
                largest = largest.max(result);
            }
        }
        Solution {
            steps: steps(&self.children, leaves),
            sliced: Vec::new(),
            price: self.total().log2(),
            products: products.log2(),
            elements: elements.log2(),
            largest,
        }
    }
}
