//! Turns an expression and the shapes of its operands into a tree of unary steps and binary contractions.
//!
//! ```text
//! Expression --shapes--> Einsums (any number of inputs each) --an order for each--> Tree
//! ```
//!
//! First, every label is mapped to a dimension. The labels that a bracket sums are local to the bracket, so the two `j`
//! in `[ij->i],jk->ik` are different dimensions. Ellipses become right-aligned dimensions, implicit outputs become
//! explicit, and dimensions of extent 1 are broadcast. If an operand of a contraction has repeated labels, or labels
//! that occur in no other tensor, a unary step first removes these labels.
//!
//! Invariants: Every node is listed after its inputs, and the last node is the root. The labels of a node are distinct,
//! unless the node is a leaf. Every label of a contraction is of kind c, m, n or k. No function in this module is
//! recursive, so only memory limits the depth of a tree.
//!
//! This module does not search for a contraction order; [`crate::plan`] does.

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

/// The index of a node in a [`Tree`].
pub type NodeId = usize;

/// The operation of a unary step. Each operation can also reorder dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnaryOp {
    /// Reorders dimensions, or copies the tensor.
    Permute,
    /// Sums over the labels that are not in the result.
    Sum,
    /// Selects the elements whose indices for a repeated label are all equal, and sums over the labels that are not in
    /// the result.
    Diagonal,
}

/// The step that computes a node.
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

/// One einsum, before its contraction order is chosen.
#[derive(Debug)]
pub struct Network<'a> {
    /// Labels of each input. A label may occur more than once in an input, and may occur in only one input.
    pub tensors: Vec<&'a [Label]>,
    /// Labels of the result.
    pub output: &'a [Label],
    /// The extent of each dimension, indexed by label.
    pub extents: &'a [usize],
}

/// The order in which the tensors of an einsum are contracted, as a list of groups. Each group lists the numbers of the
/// tensors that are contracted into a single tensor. The n inputs have the numbers 0 to n - 1. The result of the first
/// group has number n, that of the second has number n + 1, and so on. Each number occurs in exactly one group, except
/// the number of the final result, which occurs in none.
pub type Order = Vec<Vec<usize>>;

/// Returns the order that contracts `tensors` tensors from left to right.
pub fn left_to_right(tensors: usize) -> Order {
    let left = |step: usize| if step == 0 { 0 } else { tensors + step - 1 };
    (1..tensors).map(|right| vec![left(right - 1), right]).collect()
}

/// A tensor in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The dimensions of the tensor, slowest-varying first.
    pub labels: Vec<Label>,
    /// The step that computes the tensor.
    pub step: Step,
    /// The position in the text of the operand or einsum that defines the tensor.
    pub span: Span,
}

/// An expression with the extents of its dimensions, as a tree of unary steps and contractions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Distinct names of the dimensions, indexed by label. If several dimensions have the same letter, primes or
    /// numbers are appended to the names of all but the first.
    pub names: Vec<String>,
    /// Extents of the dimensions, indexed by label.
    pub extents: Vec<usize>,
    /// The nodes, each listed after its inputs. The last node is the result.
    pub nodes: Vec<Node>,
    /// Number of operands of the expression.
    pub operands: usize,
    /// Labels that the path search chose to slice under a memory limit, because the order suits these slices.
    pub sliced: Vec<Label>,
}

impl Tree {
    /// Builds a tree. Calls `order` for every einsum, and contracts the einsum in the order that it returns.
    ///
    /// # Errors
    /// If `order` returns an error for any einsum.
    pub fn new<E>(einsums: &Einsums, order: impl FnMut(&Network) -> Result<Order, E>) -> Result<Tree, E> {
        build::build(einsums, order)
    }

    /// Builds a tree that contracts every einsum from left to right.
    pub fn left_to_right(einsums: &Einsums) -> Tree {
        let Ok(tree) =
            Tree::new(einsums, |network| Ok::<_, std::convert::Infallible>(left_to_right(network.tensors.len())));
        tree
    }

    /// The node of the result, which is the last node.
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

    /// The shape of a tensor with these dimensions.
    pub fn shape(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|&label| self.extent(label)).collect()
    }

    /// Formats labels as a term, such as `mk`, or `[m0,k0]` if any name has several characters.
    pub fn term(&self, labels: &[Label]) -> String {
        term(&self.names, labels)
    }

    /// Formats the step of a node as an expression, such as `mk,kn->mn`.
    pub fn step_text(&self, node: NodeId) -> String {
        let term = |id: NodeId| self.term(&self.nodes[id].labels);
        match &self.nodes[node].step {
            Step::Leaf { .. } => term(node),
            Step::Unary { input, .. } => format!("{}->{}", term(*input), term(node)),
            Step::Contract { left, right, .. } => format!("{},{}->{}", term(*left), term(*right), term(node)),
        }
    }

    /// Number of multiply-adds in a contraction, which is the product of the extents of all its dimensions. It is 0 for
    /// all other steps.
    pub fn products(&self, node: NodeId) -> f64 {
        match &self.nodes[node].step {
            Step::Contract { kinds, .. } => kinds.iter().map(|(label, _)| self.extent(label) as f64).product(),
            _ => 0.0,
        }
    }
}

/// Formats labels as a term, such as `mk`, or `[m0,k0]` if any name has several characters. `names` is indexed by
/// label.
pub fn term(names: &[String], labels: &[Label]) -> String {
    let names: Vec<&str> = labels.iter().map(|label| names[label.0 as usize].as_str()).collect();
    if names.iter().any(|name| name.chars().count() != 1) { format!("[{}]", names.join(",")) } else { names.concat() }
}
