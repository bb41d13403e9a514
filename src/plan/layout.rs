//! Chooses the memory layout of intermediates: the order of dimensions with the lowest total cost of the contractions
//! that produce and consume them.
//!
//! Dynamic programming, inputs before consumers, finds the lowest cost of each subtree for a few candidate orders of
//! its result from the prices of local contractions ([`price_contract`]). Operands and the result keep their layout.
//!
//! Guarantee: only the order of labels changes. Results of unary steps and intermediates that a small step consumes
//! keep their layouts, because optimising them does not pay.

use std::collections::HashMap;

use crate::dims::{Label, classify};
use crate::dtype::Dtype;
use crate::local_plan::{Layout, Price, Target, key, price_contract, row_major};
use crate::tree::{NodeId, Step, Tree};

/// An intermediate keeps its layout if its consumer has fewer multiply-adds than this.
const MIN_MULTIPLY_ADDS: f64 = 1e6;

/// In trees with more nodes, so does an intermediate whose consumer has less than 1 / `MAX_NODES` of all multiply-adds.
const MAX_NODES: usize = 64;

/// New layouts must cost less than this fraction of the original ones, because prices are estimates.
const MAX_COST_SHARE: f64 = 0.97;

/// The factor of unreliable prices if the price with the original layouts is reliable.
const UNRELIABLE_PRICE_FACTOR: f64 = 1.3;

/// Cached prices of contractions for one element type and target. Trees that differ in one extent share most prices.
pub type Prices = HashMap<Vec<isize>, Price>;

/// Returns the tree with the cheapest orders of dimensions, or a copy if they save too little.
pub fn arrange(tree: &Tree, dtype: Dtype, target: &Target, prices: &mut Prices) -> Tree {
    let mut search = LayoutSearch { tree, dtype, target, prices };
    let total: f64 = (0..tree.nodes.len()).map(|node| tree.products(node)).sum();
    let least =
        if tree.nodes.len() > MAX_NODES { MIN_MULTIPLY_ADDS.max(total / MAX_NODES as f64) } else { MIN_MULTIPLY_ADDS };
    let mut tables: Vec<Table> = Vec::with_capacity(tree.nodes.len());
    for (node, consumer) in consumers(tree).into_iter().enumerate() {
        let consumer = consumer.filter(|&consumer| tree.products(consumer) >= least);
        let orders = match consumer {
            Some(consumer) if matches!(tree.nodes[node].step, Step::Contract { .. }) => orders(tree, node, consumer),
            _ => vec![tree.nodes[node].labels.clone()],
        };
        let table = search.table(node, orders, &tables);
        tables.push(table);
    }
    let best = &tables[tree.root()].choices[0];
    if best.cost >= MAX_COST_SHARE * search.as_written() {
        return tree.clone();
    }
    let mut arranged = tree.clone();
    let mut open = vec![(tree.root(), 0)];
    while let Some((node, order)) = open.pop() {
        let Table { orders, choices } = &tables[node];
        arranged.nodes[node].labels.clone_from(&orders[order]);
        let [first, second] = choices[order].inputs;
        match tree.nodes[node].step {
            Step::Leaf { .. } => {}
            Step::Unary { input, .. } => open.push((input, first)),
            Step::Contract { left, right, .. } => open.extend([(left, first), (right, second)]),
        }
    }
    // The lists of dimensions depend on the layouts.
    for node in 0..arranged.nodes.len() {
        if let Step::Contract { left, right, .. } = arranged.nodes[node].step {
            let [l, r, o] = [left, right, node].map(|id| &arranged.nodes[id].labels);
            if let (Ok(new), Step::Contract { kinds, .. }) = (classify(l, r, o), &mut arranged.nodes[node].step) {
                *kinds = new;
            }
        }
    }
    arranged
}

/// The candidate orders of a node's dimensions, the original first, and the cheapest way to produce each.
struct Table {
    orders: Vec<Vec<Label>>,
    choices: Vec<Choice>,
}

#[derive(Clone, Copy)]
struct Choice {
    /// Predicted nanoseconds for the node's whole subtree.
    cost: f64,
    /// The orders of the inputs, as indices into their tables.
    inputs: [usize; 2],
}

struct LayoutSearch<'a> {
    tree: &'a Tree,
    dtype: Dtype,
    target: &'a Target,
    prices: &'a mut Prices,
}

impl LayoutSearch<'_> {
    fn table(&mut self, node: NodeId, orders: Vec<Vec<Label>>, tables: &[Table]) -> Table {
        let cheapest = |input: NodeId| {
            let costs = tables[input].choices.iter().map(|choice| choice.cost).enumerate();
            costs.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((0, 0.0))
        };
        let choices = match self.tree.nodes[node].step {
            Step::Leaf { .. } => vec![Choice { cost: 0.0, inputs: [0; 2] }; orders.len()],
            Step::Unary { input, .. } => {
                let (at, cost) = cheapest(input);
                vec![Choice { cost, inputs: [at, 0] }; orders.len()]
            }
            Step::Contract { left, right, .. } => {
                let written = [left, right, node].map(|id| &self.tree.nodes[id].labels);
                let price_factor = if self.price(written).reliable { UNRELIABLE_PRICE_FACTOR } else { 1.0 };
                let mut best = |out: &Vec<Label>| {
                    let mut best = Choice { cost: f64::INFINITY, inputs: [0; 2] };
                    for (l, left_order) in tables[left].orders.iter().enumerate() {
                        for (r, right_order) in tables[right].orders.iter().enumerate() {
                            let below = tables[left].choices[l].cost + tables[right].choices[r].cost;
                            let Price { nanoseconds, reliable } = self.price([left_order, right_order, out]);
                            let cost = below + if reliable { nanoseconds } else { price_factor * nanoseconds };
                            if cost < best.cost {
                                best = Choice { cost, inputs: [l, r] };
                            }
                        }
                    }
                    best
                };
                orders.iter().map(&mut best).collect()
            }
        };
        Table { orders, choices }
    }

    /// The nanoseconds of the tree with its original layouts.
    fn as_written(&mut self) -> f64 {
        let tree = self.tree;
        let contractions = tree.nodes.iter().filter_map(|node| match node.step {
            Step::Contract { left, right, .. } => {
                Some([&tree.nodes[left].labels, &tree.nodes[right].labels, &node.labels])
            }
            _ => None,
        });
        contractions.map(|tensors| self.price(tensors).nanoseconds).sum()
    }

    /// The predicted nanoseconds for contracting dense tensors with these labels, and whether the prediction is
    /// reliable.
    fn price(&mut self, tensors: [&Vec<Label>; 3]) -> Price {
        let shapes = tensors.map(|labels| self.tree.shape(labels));
        let strides = shapes.each_ref().map(|shape| row_major(shape));
        let [left, right, out] =
            [0, 1, 2].map(|tensor: usize| Layout::new(tensors[tensor], &shapes[tensor], &strides[tensor]));
        let (dtype, target) = (self.dtype, self.target);
        let price = || price_contract(&left, &right, &out, dtype, target);
        *self.prices.entry(key(&[left, right, out])).or_insert_with(price)
    }
}

/// The consumer of each node; `None` for the root.
fn consumers(tree: &Tree) -> Vec<Option<NodeId>> {
    let mut consumers = vec![None; tree.nodes.len()];
    for (id, node) in tree.nodes.iter().enumerate() {
        match node.step {
            Step::Leaf { .. } => {}
            Step::Unary { input, .. } => consumers[input] = Some(id),
            Step::Contract { left, right, .. } => (consumers[left], consumers[right]) = (Some(id), Some(id)),
        }
    }
    consumers
}

/// Returns orders that suit the contraction that produces or the one that consumes a tensor. Dimensions of the same
/// kind in that contraction are adjacent, in the order of one of its other tensors.
fn orders(tree: &Tree, node: NodeId, consumer: NodeId) -> Vec<Vec<Label>> {
    let labels = |id: NodeId| tree.nodes[id].labels.as_slice();
    let own = labels(node);
    let among = |of: &[Label], in_order_of: &[Label]| -> Vec<Label> {
        in_order_of.iter().filter(|label| of.contains(label)).copied().collect()
    };
    let mut found = vec![own.to_vec()];
    if let Step::Contract { left, right, kinds } = &tree.nodes[node].step {
        let (c, m, n) = (&kinds.c, among(&kinds.m, labels(*left)), among(&kinds.n, labels(*right)));
        found.extend([[c, &m, &n].map(Vec::as_slice).concat(), [c, &n, &m].map(Vec::as_slice).concat()]);
    }
    if let Step::Contract { left, right, kinds } = &tree.nodes[consumer].step {
        let other = if *left == node { *right } else { *left };
        let kept = among(own, labels(consumer));
        let (c, free): (Vec<Label>, Vec<Label>) = kept.iter().partition(|label| kinds.c.contains(label));
        let summed = among(&kinds.k, labels(other));
        found.extend([
            [&c, &free, &summed].map(Vec::as_slice).concat(),
            [&c, &summed, &free].map(Vec::as_slice).concat(),
            [&kept, &summed].map(Vec::as_slice).concat(),
            [&summed, &kept].map(Vec::as_slice).concat(),
        ]);
    }
    let mut orders: Vec<Vec<Label>> = Vec::new();
    for order in found {
        if !orders.contains(&order) {
            orders.push(order);
        }
    }
    orders
}
