//! Builds the tree: each einsum's unary steps, and its contractions in the order from `order`.

use std::collections::HashMap;

use einsum_parser::Span;

use super::einsums::{EinsumSource, Einsums};
use super::{Network, Node, NodeId, Order, Step, Tree, UnaryOp};
use crate::dims::{Label, classify};

pub fn build<E>(einsums: &Einsums, mut order: impl FnMut(&Network) -> Result<Order, E>) -> Result<Tree, E> {
    let Einsums { names, extents, operands, .. } = einsums.clone();
    let nodes = Vec::with_capacity(2 * einsums.nodes.len());
    let mut builder =
        TreeBuilder { tree: Tree { names, extents, nodes, operands, sliced: Vec::new() }, span: Span::default() };
    let mut grown: Vec<NodeId> = Vec::with_capacity(einsums.nodes.len());
    for einsum in &einsums.nodes {
        builder.span = einsum.span;
        grown.push(match &einsum.source {
            EinsumSource::Operand(operand) => builder.push(einsum.labels.clone(), Step::Leaf { operand: *operand }),
            EinsumSource::Of(inputs) => {
                let inputs: Vec<NodeId> = inputs.iter().map(|&input| grown[input]).collect();
                let tensors = inputs.iter().map(|&input| builder.labels(input)).collect();
                let order = order(&Network { tensors, output: &einsum.labels, extents: &einsums.extents })?;
                builder.einsum(inputs, &einsum.labels, &order)
            }
        });
    }
    let mut tree = builder.tree;
    // The result must be new, so `ab->ab` becomes a copy.
    if let Step::Leaf { .. } = tree.nodes[tree.root()].step {
        let node = &tree.nodes[tree.root()];
        let copy = Node { step: Step::Unary { input: tree.root(), op: UnaryOp::Permute }, ..node.clone() };
        tree.nodes.push(copy);
    }
    Ok(tree)
}

struct TreeBuilder {
    tree: Tree,
    span: Span,
}

/// Each label's occurrences in the output and in tensors not contracted yet.
struct LabelUses(HashMap<Label, usize>);

impl LabelUses {
    fn add(&mut self, labels: &[Label]) {
        labels.iter().for_each(|&label| *self.0.entry(label).or_default() += 1);
    }

    fn remove(&mut self, labels: &[Label]) {
        for label in labels {
            if let Some(count) = self.0.get_mut(label) {
                *count -= 1;
            }
        }
    }

    fn has(&self, label: Label) -> bool {
        self.0.get(&label).is_some_and(|&count| count > 0)
    }
}

impl TreeBuilder {
    fn push(&mut self, labels: Vec<Label>, step: Step) -> NodeId {
        self.tree.nodes.push(Node { labels, step, span: self.span });
        self.tree.root()
    }

    fn labels(&self, node: NodeId) -> &[Label] {
        &self.tree.nodes[node].labels
    }

    /// Each group is contracted from left to right.
    fn einsum(&mut self, inputs: Vec<NodeId>, output: &[Label], order: &Order) -> NodeId {
        let mut result = inputs[inputs.len() - 1];
        let mut uses = LabelUses(HashMap::new());
        inputs.iter().for_each(|&input| uses.add(self.labels(input)));
        uses.add(output);
        let mut tensors = inputs;
        for (step, group) in order.iter().enumerate() {
            let last = step + 1 == order.len();
            result = tensors[group[0]];
            uses.remove(self.labels(result));
            for (at, &member) in group.iter().enumerate().skip(1) {
                let right = tensors[member];
                uses.remove(self.labels(right));
                let (kept_left, kept_right) = (self.kept(result, right, &uses), self.kept(right, result, &uses));
                let out = if last && at + 1 == group.len() {
                    output.to_vec()
                } else {
                    let both = kept_left.iter().chain(kept_right.iter().filter(|l| !kept_left.contains(l)));
                    both.copied().filter(|&label| uses.has(label)).collect()
                };
                let (left, right) = (self.reduce(result, kept_left), self.reduce(right, kept_right));
                result = self.contract(left, right, out);
            }
            uses.add(self.labels(result));
            tensors.push(result);
        }
        self.unary(result, output.to_vec())
    }

    /// The distinct labels of `node` that also occur in `other`, the output, or a tensor not contracted yet.
    fn kept(&self, node: NodeId, other: NodeId, uses: &LabelUses) -> Vec<Label> {
        let mut kept: Vec<Label> = Vec::new();
        for &label in self.labels(node) {
            if !kept.contains(&label) && (uses.has(label) || self.labels(other).contains(&label)) {
                kept.push(label);
            }
        }
        kept
    }

    fn reduce(&mut self, input: NodeId, kept: Vec<Label>) -> NodeId {
        if self.labels(input).len() == kept.len() { input } else { self.unary(input, kept) }
    }

    fn unary(&mut self, input: NodeId, out: Vec<Label>) -> NodeId {
        let labels = self.labels(input);
        let repeated = labels.iter().enumerate().any(|(i, label)| labels[..i].contains(label));
        let summed = labels.iter().any(|label| !out.contains(label));
        if !repeated && labels == out.as_slice() {
            return input;
        }
        let op = match (repeated, summed) {
            (true, _) => UnaryOp::Diagonal,
            (false, true) => UnaryOp::Sum,
            (false, false) => UnaryOp::Permute,
        };
        self.push(out, Step::Unary { input, op })
    }

    fn contract(&mut self, left: NodeId, right: NodeId, out: Vec<Label>) -> NodeId {
        let kinds = classify(self.labels(left), self.labels(right), &out).unwrap_or_else(|error| {
            // After `reduce`, every label is distinct in a tensor and occurs in another one.
            unreachable!("reduced operands are a contraction: {error}")
        });
        self.push(out, Step::Contract { left, right, kinds })
    }
}
