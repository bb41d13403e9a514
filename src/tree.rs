//! Turns an expression and the shapes of its operands into a tree of unary steps and binary contractions.
//!
//! ```text
//! Expression --shapes--> Einsums (any number of inputs each) --an order for each--> Tree
//! ```
//!
//! Labels are resolved first: the summed labels of a bracket are its own (the two `j` of `[ij->i],jk->ik` are two
//! dimensions), ellipses become dimensions aligned at the right, implicit outputs are spelled out, extents of 1 are
//! broadcast. A unary step first reduces every operand of a contraction to labels that occur once in it and elsewhere.
//!
//! Invariants: nodes come after their inputs, and the last node is the root; the labels of every node except leaves are
//! distinct; a contraction's labels are all c, m, n or k. Nothing here recurses, so memory alone limits the depth.
//!
//! Deliberately absent: searching for an order, which [`crate::plan`] does.

mod build;
mod einsums;
mod error;
mod names;
mod scope;

pub use einsums::{Einsum, EinsumSource, Einsums};
pub use error::ShapeError;

use einsum_parser::Span;
use serde::{Deserialize, Serialize};

use crate::dims::{Kinds, Label};

/// A node of a [`Tree`], by its index.
pub type NodeId = usize;

/// What a unary step does beyond ordering dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnaryOp {
    /// Nothing: only reorders dimensions, or copies the tensor.
    Permute,
    /// Sums over the labels that the result lacks.
    Sum,
    /// Takes the elements whose indices of a repeated label are equal.
    Diagonal,
}

/// How a node is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named for what they are")]
pub enum Step {
    /// An operand.
    Leaf { operand: usize },
    /// A step with one input.
    Unary { input: NodeId, op: UnaryOp },
    /// A contraction of two tensors.
    Contract { left: NodeId, right: NodeId, kinds: Kinds },
}

/// One einsum whose contraction order is still open.
#[derive(Debug)]
pub struct Network<'a> {
    /// Labels of the inputs; a label may occur twice in an input, or in no other input.
    pub tensors: Vec<&'a [Label]>,
    /// Labels of the result.
    pub output: &'a [Label],
    /// Extents by label.
    pub extents: &'a [usize],
}

/// The order in which the tensors of an einsum are contracted: groups of tensors that become one. The inputs are
/// numbered 0 to n - 1, and results follow in order. Each number occurs once, except for the last one, which is the
/// final result.
pub type Order = Vec<Vec<usize>>;

/// Contracts tensors in the order in which they are written.
pub fn left_to_right(tensors: usize) -> Order {
    let left = |step: usize| if step == 0 { 0 } else { tensors + step - 1 };
    (1..tensors).map(|right| vec![left(right - 1), right]).collect()
}

/// A tensor of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its dimensions, the slowest first.
    pub labels: Vec<Label>,
    /// How it is computed.
    pub step: Step,
    /// The place in the expression that it comes from.
    pub span: Span,
}

/// An expression with its extents, in which every step is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Distinct names of dimensions; a bracket's own dimension that shares its letter with another gets primes.
    pub names: Vec<String>,
    /// Extents of dimensions, by label.
    pub extents: Vec<usize>,
    /// Nodes, each after its inputs; the last one is the result.
    pub nodes: Vec<Node>,
    /// How many operands there are.
    pub operands: usize,
}

impl Tree {
    /// Contracts every einsum in the order that `order` returns for it.
    ///
    /// # Errors
    /// The errors of `order`.
    pub fn new<E>(einsums: &Einsums, order: impl FnMut(&Network) -> Result<Order, E>) -> Result<Tree, E> {
        build::build(einsums, order)
    }

    /// Contracts every einsum from left to right.
    pub fn left_to_right(einsums: &Einsums) -> Tree {
        let Ok(tree) =
            Tree::new(einsums, |network| Ok::<_, std::convert::Infallible>(left_to_right(network.tensors.len())));
        tree
    }

    /// The result.
    pub fn root(&self) -> NodeId {
        self.nodes.len() - 1
    }

    /// The name of a dimension.
    pub fn name(&self, label: Label) -> &str {
        &self.names[label.0 as usize]
    }

    /// The extent of a dimension.
    pub fn extent(&self, label: Label) -> usize {
        self.extents[label.0 as usize]
    }

    /// The shape of a tensor of these dimensions.
    pub fn shape(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|&label| self.extent(label)).collect()
    }

    /// Labels as a term: `mk`, or `[m0,k0]` where names have several characters.
    pub fn term(&self, labels: &[Label]) -> String {
        term(&self.names, labels)
    }

    /// The step of a node as an expression of its own: `mk,kn->mn`.
    pub fn step_text(&self, node: NodeId) -> String {
        let term = |id: NodeId| self.term(&self.nodes[id].labels);
        match &self.nodes[node].step {
            Step::Leaf { .. } => term(node),
            Step::Unary { input, .. } => format!("{}->{}", term(*input), term(node)),
            Step::Contract { left, right, .. } => format!("{},{}->{}", term(*left), term(*right), term(node)),
        }
    }

    /// Multiply-adds of a contraction: the product of all its extents.
    pub fn products(&self, node: NodeId) -> f64 {
        match &self.nodes[node].step {
            Step::Contract { kinds, .. } => kinds.iter().map(|(label, _)| self.extent(label) as f64).product(),
            _ => 0.0,
        }
    }
}

/// Labels as a term, by the names of all labels: `mk`, or `[m0,k0]` where one of them has several characters.
pub fn term(names: &[String], labels: &[Label]) -> String {
    let names: Vec<&str> = labels.iter().map(|label| names[label.0 as usize].as_str()).collect();
    if names.iter().any(|name| name.chars().count() != 1) { format!("[{}]", names.join(",")) } else { names.concat() }
}
