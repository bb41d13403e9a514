//! From an expression and the shapes of its operands to a tree of unary steps and binary contractions.
//!
//! ```text
//! Expression --shapes--> Einsums (any number of inputs each) --an order for each--> Tree
//! ```
//!
//! Labels are resolved first: the summed labels of a bracket are its own (the `j` of `[ij->i],jk->ik` twice is two
//! dimensions), ellipses become dimensions aligned at the right, implicit outputs are spelled out, extents of 1 are repeated.
//! Every operand of a contraction is first reduced by a unary step to labels that occur once in it and elsewhere.
//!
//! Invariants: nodes come after their inputs, the last node is the root; the labels of every node that is not a leaf are
//! distinct; a contraction's labels are all c, m, n or k. Nothing here recurses, so depth is limited by memory alone.
//!
//! Deliberately absent: searching for an order ([`crate::plan`] does).

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

/// A node of a [`Tree`], by its place.
pub type NodeId = usize;

/// What a unary step does beyond ordering dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnaryOp {
    /// Nothing: dimensions in another order, or the same tensor once more.
    Permute,
    /// Sums over the labels that the result lacks.
    Sum,
    /// Takes the elements whose indices of a repeated label are equal.
    Diagonal,
}

/// How a node comes about.
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

/// One einsum whose order is open.
#[derive(Debug)]
pub struct Network<'a> {
    /// Labels of the inputs, of which some may occur twice or nowhere else.
    pub tensors: Vec<&'a [Label]>,
    /// Labels of the result.
    pub output: &'a [Label],
    /// Extents by label.
    pub extents: &'a [usize],
}

/// In which order the tensors of an einsum are contracted: groups of tensors that become one. The inputs are numbered 0 to
/// n - 1, results follow in order; each number occurs once, but for the last one, which is the result of the whole.
pub type Order = Vec<Vec<usize>>;

/// The order in which tensors are written.
pub fn left_to_right(tensors: usize) -> Order {
    let left = |step: usize| if step == 0 { 0 } else { tensors + step - 1 };
    (1..tensors).map(|right| vec![left(right - 1), right]).collect()
}

/// A tensor of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its dimensions, the slowest first.
    pub labels: Vec<Label>,
    /// How it comes about.
    pub step: Step,
    /// The place in the expression that it comes from.
    pub span: Span,
}

/// An expression whose every step is known, with extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Names of dimensions, distinct; a bracket's own dimension that shares its letter with another gets primes.
    pub names: Vec<String>,
    /// Extents of dimensions, by label.
    pub extents: Vec<usize>,
    /// Inputs before what is made of them; the last one is the result.
    pub nodes: Vec<Node>,
    /// How many operands there are.
    pub operands: usize,
}

impl Tree {
    /// Contracts every einsum in the order that `order` gives it.
    ///
    /// # Errors
    /// Those of `order`.
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
