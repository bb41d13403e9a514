//! Builds the tree: extents from the operands, then unary steps and contractions, left to right.

use std::collections::HashMap;

use einsum_parser::{Expression, NodeKind, Span};

use super::error::{ShapeError, counted};
use super::scope::{Resolved, resolve};
use super::{Node, NodeId, Step, Tree, UnaryOp};
use crate::dims::{Label, classify};

pub fn build(expression: &Expression, shapes: &[Vec<usize>]) -> Result<Tree, ShapeError> {
    let terms: Vec<Span> = expression.operands().map(|term| term.span).collect();
    if terms.len() != shapes.len() {
        let message = format!(
            "the expression has {}, but {} given",
            counted(terms.len(), "operand"),
            if shapes.len() == 1 { "1 is".to_owned() } else { format!("{} are", shapes.len()) }
        );
        let place = terms.get(shapes.len()).or(terms.last()).copied().unwrap_or_default();
        let label = if shapes.len() < terms.len() { "nothing is given for this one" } else { "the last operand" };
        let text = expression.text().to_owned();
        return Err(ShapeError { text, message, places: vec![(place, label.to_owned())], help: None });
    }
    let ranks: Vec<usize> = shapes.iter().map(Vec::len).collect();
    let scopes = resolve(expression, &ranks)?;
    let extents = extents(expression, &scopes.terms, &scopes.names, shapes)?;
    let tree = Tree { names: scopes.names, extents, nodes: Vec::new(), operands: shapes.len() };
    let mut grower = Grower { tree, span: Span::default() };
    let mut grown: Vec<NodeId> = Vec::with_capacity(expression.nodes().len());
    for (id, node) in expression.nodes().iter().enumerate() {
        let labels = &scopes.terms[id].labels;
        grower.span = node.span;
        grown.push(match &node.kind {
            NodeKind::Operand { index, .. } => grower.push(labels.clone(), Step::Leaf { operand: *index }),
            NodeKind::Einsum { inputs, .. } => {
                let inputs: Vec<NodeId> = inputs.iter().map(|input| grown[input.0 as usize]).collect();
                grower.einsum(&inputs, labels)
            }
        });
    }
    let mut tree = grower.tree;
    // An expression that changes nothing (`ab->ab`) still makes a new tensor.
    if let Step::Leaf { .. } = tree.nodes[tree.root()].step {
        let node = &tree.nodes[tree.root()];
        let copy = Node { step: Step::Unary { input: tree.root(), op: UnaryOp::Permute }, ..node.clone() };
        tree.nodes.push(copy);
    }
    Ok(tree)
}

/// The extent of every dimension, from the operands.
fn extents(
    expression: &Expression,
    terms: &[Resolved],
    names: &[String],
    shapes: &[Vec<usize>],
) -> Result<Vec<usize>, ShapeError> {
    let mut known: Vec<Option<(usize, usize, Span)>> = vec![None; names.len()];
    for (node, term) in expression.nodes().iter().zip(terms) {
        let NodeKind::Operand { index: operand, .. } = node.kind else { continue };
        for ((&label, &span), &extent) in term.labels.iter().zip(&term.spans).zip(&shapes[operand]) {
            match known[label.0 as usize] {
                None => known[label.0 as usize] = Some((extent, operand, span)),
                Some((first, ..)) if first == extent => {}
                Some((first, earlier, place)) => {
                    let name = &names[label.0 as usize];
                    let message = if earlier == operand {
                        format!("label `{name}` has extents {first} and {extent} in operand {operand}")
                    } else {
                        format!(
                            "label `{name}` has extent {first} in operand {earlier}, but {extent} in operand {operand}"
                        )
                    };
                    let at = |extent, operand| format!("{extent} in operand {operand}");
                    return Err(ShapeError {
                        text: expression.text().to_owned(),
                        message,
                        places: vec![(span, at(extent, operand)), (place, at(first, earlier))],
                        help: None,
                    });
                }
            }
        }
    }
    // Every label of an output is one of an input (the parser sees to it), so every dimension occurs in an operand.
    Ok(known.into_iter().map(|known| known.map_or(1, |(extent, ..)| extent)).collect())
}

struct Grower {
    tree: Tree,
    span: Span,
}

impl Grower {
    fn push(&mut self, labels: Vec<Label>, step: Step) -> NodeId {
        self.tree.nodes.push(Node { labels, step, span: self.span });
        self.tree.root()
    }

    fn labels(&self, node: NodeId) -> &[Label] {
        &self.tree.nodes[node].labels
    }

    /// One einsum of any number of inputs, left to right.
    fn einsum(&mut self, inputs: &[NodeId], output: &[Label]) -> NodeId {
        let Some((&first, rest)) = inputs.split_first() else { return self.tree.root() };
        if rest.is_empty() {
            return self.unary(first, output.to_vec());
        }
        // How often a label is still needed: by inputs to come, and by the output.
        let mut needed: HashMap<Label, usize> = HashMap::new();
        let all = inputs.iter().flat_map(|&input| self.tree.nodes[input].labels.iter());
        all.chain(output).for_each(|&label| *needed.entry(label).or_default() += 1);
        let mut left = first;
        self.take(left, &mut needed);
        for (i, &right) in rest.iter().enumerate() {
            self.take(right, &mut needed);
            let is_needed = |label: &Label, other: &[Label]| needed[label] > 0 || other.contains(label);
            let keep = |node: NodeId, other: NodeId| {
                let mut kept: Vec<Label> = Vec::new();
                for label in self.labels(node) {
                    if !kept.contains(label) && is_needed(label, self.labels(other)) {
                        kept.push(*label);
                    }
                }
                kept
            };
            let (kept_left, kept_right) = (keep(left, right), keep(right, left));
            let out = if i + 1 == rest.len() {
                output.to_vec()
            } else {
                let both = kept_left.iter().chain(kept_right.iter().filter(|l| !kept_left.contains(l)));
                both.copied().filter(|label| needed[label] > 0).collect()
            };
            let (l, r) = (self.reduce(left, kept_left), self.reduce(right, kept_right));
            left = self.contract(l, r, out);
        }
        left
    }

    fn take(&self, input: NodeId, needed: &mut HashMap<Label, usize>) {
        for label in self.labels(input) {
            if let Some(count) = needed.get_mut(label) {
                *count -= 1;
            }
        }
    }

    /// Sums what nobody else needs and takes diagonals; no step where there is neither.
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
            // `reduce` left distinct labels, each in the other operand or in `out`, and `out` holds no others.
            unreachable!("reduced operands are a contraction: {error}")
        });
        self.push(out, Step::Contract { left, right, kinds })
    }
}
