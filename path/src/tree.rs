//! A contraction tree with local changes in constant time.
//!
//! Invariants: node i is tensor i for i below `leaves`; every other node has two children. A node's `labels` are those
//! of its result, without sliced ones. A rotation changes those of one node only.

use crate::bits::Bits;
use crate::effort;
use crate::fast_math::exp2;
use crate::network::{Prepared, Weights};

pub const NONE: u32 = u32::MAX;

/// A contraction's cost in multiply-adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// The cost of accessing one element.
    pub element: f64,
    /// The cost of a contraction without elements.
    pub step: f64,
}

#[derive(Clone)]
pub struct Tree<'a, const W: usize> {
    pub network: &'a Prepared,
    pub weights: Weights<W>,
    pub price: Price,
    pub sliced: Bits<W>,
    pub leaves: usize,
    pub root: usize,
    pub children: Vec<[u32; 2]>,
    pub parent: Vec<u32>,
    pub labels: Vec<Bits<W>>,
    /// log2 of each node's elements.
    pub log2: Vec<f64>,
    pub elements: Vec<f64>,
    pub cost: Vec<f64>,
    pub effort: f64,
}

impl<'a, const W: usize> Tree<'a, W> {
    /// Builds the tree of a list of contractions, with the n tensors numbered first, then the results.
    pub fn new(network: &'a Prepared, steps: &[[usize; 2]], price: Price) -> Tree<'a, W> {
        let leaves = network.tensors.len();
        let count = leaves + steps.len();
        let mut tree = Tree {
            network,
            weights: Weights::new(&network.log2),
            price,
            sliced: Bits::default(),
            leaves,
            root: count - 1,
            children: vec![[NONE; 2]; count],
            parent: vec![NONE; count],
            labels: vec![Bits::default(); count],
            log2: vec![0.0; count],
            elements: vec![1.0; count],
            cost: vec![0.0; count],
            effort: 0.0,
        };
        for (at, pair) in steps.iter().enumerate() {
            tree.children[leaves + at] = pair.map(|node| node as u32);
            pair.iter().for_each(|&node| tree.parent[node] = (leaves + at) as u32);
        }
        tree.refresh();
        tree
    }

    fn leaf_labels(&self, leaf: usize) -> Bits<W> {
        let mut labels = Bits::default();
        self.network.tensors[leaf].iter().for_each(|&label| labels.insert(label as usize));
        labels.without(&self.sliced)
    }

    pub fn refresh(&mut self) {
        self.effort += effort::refresh(W) * self.children.len() as f64;
        let order = bottom_up(&self.children, self.leaves);
        let mut below = std::mem::take(&mut self.labels);
        for &node in &order {
            below[node] = match self.children[node] {
                [NONE, _] => self.leaf_labels(node),
                [left, right] => below[left as usize].or(&below[right as usize]),
            };
        }
        let mut outside = vec![Bits::default(); below.len()];
        let mut output = Bits::default();
        self.network.output.iter().for_each(|&label| output.insert(label as usize));
        outside[self.root] = output.without(&self.sliced);
        for &node in order.iter().rev().filter(|&&node| node >= self.leaves) {
            let [left, right] = self.children[node].map(|child| child as usize);
            outside[left] = outside[node].or(&below[right]);
            outside[right] = outside[node].or(&below[left]);
        }
        for node in 0..below.len() {
            below[node] = below[node].and(&outside[node]);
        }
        self.labels = below;
        for node in order {
            self.measure(node);
        }
    }

    pub fn measure(&mut self, node: usize) {
        self.log2[node] = self.weights.log2(&self.labels[node]);
        self.elements[node] = exp2(self.log2[node]);
        if node >= self.leaves {
            let [left, right] = self.children[node].map(|child| child as usize);
            let products = self.weights.log2(&self.labels[left].or(&self.labels[right]));
            let elements = self.elements[left] + self.elements[right] + self.elements[node];
            self.cost[node] = exp2(products) + self.price.element * elements + self.price.step;
        }
    }

    pub fn total(&self) -> f64 {
        self.cost.iter().sum()
    }

    pub fn log2_slices(&self) -> f64 {
        self.weights.log2(&self.sliced)
    }

    /// log2 of the multiply-adds over all slices.
    pub fn log2_products(&self) -> f64 {
        let terms: Vec<f64> = (self.leaves..self.children.len())
            .map(|node| {
                let [left, right] = self.children[node].map(|child| child as usize);
                self.weights.log2(&self.labels[left].or(&self.labels[right]))
            })
            .collect();
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.log2_slices() + largest + terms.iter().map(|term| (term - largest).exp2()).sum::<f64>().log2()
    }

    /// log2 of the elements accessed by contractions, over all slices.
    pub fn log2_elements(&self) -> f64 {
        let leaves: f64 = self.elements[..self.leaves].iter().sum();
        let results: f64 = self.elements[self.leaves..].iter().sum();
        // Each result but the last is written and read once.
        (leaves + 2.0 * results - self.elements[self.root]).log2() + self.log2_slices()
    }

    /// log2 of the largest intermediate's elements, without tensors and final result.
    pub fn largest(&self) -> f64 {
        let between = (self.leaves..self.children.len()).filter(|&node| node != self.root);
        between.map(|node| self.log2[node]).fold(0.0, f64::max)
    }

    pub fn steps(&self) -> Vec<[usize; 2]> {
        steps(&self.children, self.leaves)
    }
}

/// The nodes of the tree whose last node is the root, children before parents.
pub fn bottom_up(children: &[[u32; 2]], leaves: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(children.len());
    let mut open = vec![children.len() - 1];
    while let Some(node) = open.pop() {
        order.push(node);
        if node >= leaves {
            open.extend(children[node].map(|child| child as usize));
        }
    }
    order.reverse();
    order
}

/// The contractions, children before parents, with results numbered in order.
pub fn steps(children: &[[u32; 2]], leaves: usize) -> Vec<[usize; 2]> {
    let mut numbers: Vec<usize> = (0..children.len()).collect();
    let mut steps = Vec::with_capacity(leaves);
    for node in bottom_up(children, leaves).into_iter().filter(|&node| node >= leaves) {
        numbers[node] = leaves + steps.len();
        steps.push(children[node].map(|child| numbers[child as usize]));
    }
    steps
}
