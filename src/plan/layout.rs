//! Chooses the order of dimensions of intermediates by the price of local contractions ([`price_contract`]).
//!
//! Dynamic programming finds the lowest cost of each subtree for a few orders of its result. In large trees that run
//! too briefly for this, orders change one by one, as long as pricing pays.
//!
//! Guarantee: only the order of labels changes. Operands, the result, results of unary steps and inputs of small steps,
//! for which it does not pay, keep their layouts.

use std::collections::HashMap;

use crate::dims::{Label, classify, distinct};
use crate::dtype::Dtype;
use crate::local_plan::{Layout, Price, Target, key, price_contract, row_major};
use crate::tree::{NodeId, Step, Tree, consumers, inputs};

/// Consumers with fewer multiply-adds are small.
const MIN_MULTIPLY_ADDS: f64 = 1e6;

/// In trees with more nodes, dynamic programming may take this share of all runs.
const MAX_NODES: usize = 32;
const TOGETHER_SHARE: f64 = 0.03;

/// The same, as a fraction of all multiply-adds.
const MIN_SHARE: f64 = 1e-3;

/// New layouts must cost less than this fraction: prices are estimates.
const MAX_COST_SHARE: f64 = 0.97;

/// If the price with the original layouts is reliable.
const UNRELIABLE_PRICE_FACTOR: f64 = 1.3;

/// Nanoseconds to price a contraction.
const PRICING: f64 = 3e4;

/// Single changes may take this share of all runs and `FREE_PRICING` nanoseconds, those of one order `ORDER_SHARE` of
/// its contractions.
const PRICING_SHARE: f64 = 0.25;
const FREE_PRICING: f64 = 5e6;
const ORDER_SHARE: f64 = 0.5;

/// Prices for one element type and target. Trees that differ in one extent share most.
pub type Prices = HashMap<Vec<isize>, Price>;

/// The tree with the cheapest orders, or a copy if they save too little.
pub fn arrange(tree: &Tree, dtype: Dtype, target: &Target, prices: &mut Prices, runs: f64) -> Tree {
    let mut search = LayoutSearch { tree, dtype, target, prices };
    let share = if tree.nodes.len() > MAX_NODES { MIN_SHARE } else { 0.0 };
    let least = MIN_MULTIPLY_ADDS.max(share * tree.all_products());
    let mut cost_from = |products: f64| {
        let nodes = (0..tree.nodes.len()).filter(|&node| tree.products(node) >= products);
        nodes.map(|node| search.cost(tree, node)).sum::<f64>()
    };
    // One by one, most small contractions keep their layouts and need no price.
    let of_large = cost_from(least);
    let consumers = consumers(tree).into_iter().enumerate().map(|(node, consumer)| {
        let consumer = consumer.filter(|&consumer| tree.products(consumer) >= least);
        (node, consumer)
    });
    let orders: Vec<_> = consumers.map(|(node, consumer)| orders(tree, node, consumer)).collect();
    let prices = tree.nodes.iter().zip(&orders).map(|(node, own)| match node.step {
        Step::Contract { left, right, .. } => own.len() * orders[left].len() * orders[right].len(),
        _ => 0,
    });
    let nanoseconds = PRICING * prices.sum::<usize>() as f64;
    let together = tree.nodes.len() <= MAX_NODES || nanoseconds <= TOGETHER_SHARE * runs * of_large;
    let written = if together { cost_from(0.0) } else { of_large };
    let (mut arranged, cost) =
        if together { search.together(orders) } else { search.one_by_one(&orders, written, runs) };
    if cost >= MAX_COST_SHARE * written {
        return tree.clone();
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

/// A node's orders, the original first.
struct Table {
    orders: Vec<Vec<Label>>,
    choices: Vec<Choice>,
}

#[derive(Clone, Copy)]
struct Choice {
    /// Nanoseconds of the whole subtree.
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
    fn together(&mut self, orders: Vec<Vec<Vec<Label>>>) -> (Tree, f64) {
        let tree = self.tree;
        let mut tables: Vec<Table> = Vec::with_capacity(tree.nodes.len());
        for (node, orders) in orders.into_iter().enumerate() {
            let table = self.table(node, orders, &tables);
            tables.push(table);
        }
        let mut arranged = tree.clone();
        let mut open = vec![(tree.root(), 0)];
        while let Some((node, order)) = open.pop() {
            let Table { orders, choices } = &tables[node];
            arranged.nodes[node].labels.clone_from(&orders[order]);
            open.extend(inputs(&tree.nodes[node].step).into_iter().flatten().zip(choices[order].inputs));
        }
        (arranged, tables[tree.root()].choices[0].cost)
    }

    /// A tree that no order alone improves, as far as pricing pays, and its cost.
    fn one_by_one(&mut self, orders: &[Vec<Vec<Label>>], written: f64, runs: f64) -> (Tree, f64) {
        let (mut arranged, mut cost) = (self.tree.clone(), written);
        let mut open = Vec::new();
        for ((node, consumer), orders) in consumers(self.tree).into_iter().enumerate().zip(orders) {
            if let Some(consumer) = consumer.filter(|_| orders.len() > 1) {
                open.push((self.cost(&arranged, node) + self.cost(&arranged, consumer), [node, consumer], orders));
            }
        }
        open.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
        let most = self.prices.len() + ((PRICING_SHARE * runs * written + FREE_PRICING) / PRICING) as usize;
        let mut changes = true;
        while std::mem::take(&mut changes) {
            for &(_, [node, consumer], orders) in &open {
                let now = self.cost(&arranged, node) + self.cost(&arranged, consumer);
                if ORDER_SHARE * runs * now < PRICING * (2 * orders.len()) as f64 || self.prices.len() >= most {
                    continue;
                }
                let (mut least, mut best) = (now, arranged.nodes[node].labels.clone());
                for order in orders {
                    arranged.nodes[node].labels.clone_from(order);
                    let price = self.cost(&arranged, node) + self.cost(&arranged, consumer);
                    if price < least {
                        (least, best) = (price, order.clone());
                    }
                }
                changes |= least < now;
                cost += least - now;
                arranged.nodes[node].labels = best;
            }
        }
        (arranged, cost)
    }

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
                let mut best = |out: &Vec<Label>| {
                    let mut best = Choice { cost: f64::INFINITY, inputs: [0; 2] };
                    for (l, left_order) in tables[left].orders.iter().enumerate() {
                        for (r, right_order) in tables[right].orders.iter().enumerate() {
                            let below = tables[left].choices[l].cost + tables[right].choices[r].cost;
                            let cost = below + self.contraction([left, right, node], [left_order, right_order, out]);
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

    fn cost(&mut self, tree: &Tree, node: NodeId) -> f64 {
        let Step::Contract { left, right, .. } = tree.nodes[node].step else { return 0.0 };
        let nodes = [left, right, node];
        self.contraction(nodes, nodes.map(|id| &tree.nodes[id].labels))
    }

    fn contraction(&mut self, nodes: [NodeId; 3], tensors: [&Vec<Label>; 3]) -> f64 {
        let Price { nanoseconds, reliable, .. } = self.price(tensors);
        let written = nodes.map(|id| &self.tree.nodes[id].labels);
        if reliable || !self.price(written).reliable { nanoseconds } else { UNRELIABLE_PRICE_FACTOR * nanoseconds }
    }

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

/// Orders that suit a tensor's producer or consumer, the original first, with the dimensions of each kind adjacent.
fn orders(tree: &Tree, node: NodeId, consumer: Option<NodeId>) -> Vec<Vec<Label>> {
    let labels = |id: NodeId| tree.nodes[id].labels.as_slice();
    let own = labels(node);
    let among = |of: &[Label], in_order_of: &[Label]| -> Vec<Label> {
        in_order_of.iter().filter(|label| of.contains(label)).copied().collect()
    };
    let mut found = vec![own.to_vec()];
    let (Some(consumer), Step::Contract { left, right, kinds }) = (consumer, &tree.nodes[node].step) else {
        return found;
    };
    let (c, m, n) = (&kinds.c, among(&kinds.m, labels(*left)), among(&kinds.n, labels(*right)));
    found.extend([[c, &m, &n].map(Vec::as_slice).concat(), [c, &n, &m].map(Vec::as_slice).concat()]);
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
    distinct(&found)
}

#[cfg(test)]
mod tests;
