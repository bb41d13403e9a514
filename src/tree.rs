//! From an expression and the shapes of its operands to a tree of unary steps and binary contractions.
//!
//! Labels are resolved here: the summed labels of a bracket are its own (the `j` of `[ij->i],jk->ik` twice is two
//! dimensions), ellipses become dimensions aligned at the right, implicit outputs are spelled out. Every operand of a
//! contraction is first reduced by a unary step to labels that occur once in it and elsewhere.
//!
//! Invariants: nodes come after their inputs, the last node is the root; the labels of every node that is not a leaf are
//! distinct; a contraction's labels are all c, m, n or k. Nothing here recurses, so depth is limited by memory alone.
//!
//! Deliberately absent: searching for a contraction order (n-ary terms go left to right), and broadcasting of extent 1.

mod build;
mod error;
mod scope;

pub use error::ShapeError;

use einsum_parser::{Expression, Span};
use serde::{Deserialize, Serialize};

use crate::dims::{Kinds, Label};

/// A node of a [`Tree`], by its place.
pub type NodeId = usize;

/// What a unary step does beyond ordering dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnaryOp {
    Permute,
    Sum,
    Diagonal,
}

/// How a node comes about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Leaf { operand: usize },
    Unary { input: NodeId, op: UnaryOp },
    Contract { left: NodeId, right: NodeId, kinds: Kinds },
}

/// A tensor of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub labels: Vec<Label>,
    pub step: Step,
    /// The place in the expression that it comes from.
    pub span: Span,
}

/// An expression whose every step is known, with extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Names of dimensions, distinct; a bracket's own dimension that shares its letter with another gets primes.
    pub names: Vec<String>,
    pub extents: Vec<usize>,
    pub nodes: Vec<Node>,
    pub operands: usize,
}

impl Tree {
    /// Resolves an expression over operands of these shapes.
    ///
    /// # Errors
    /// Too many or too few operands, an operand of the wrong rank, or a label with two extents; each says where.
    pub fn new(expression: &Expression, shapes: &[Vec<usize>]) -> Result<Tree, ShapeError> {
        build::build(expression, shapes)
    }

    pub fn root(&self) -> NodeId {
        self.nodes.len() - 1
    }

    pub fn name(&self, label: Label) -> &str {
        &self.names[label.0 as usize]
    }

    pub fn extent(&self, label: Label) -> usize {
        self.extents[label.0 as usize]
    }

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
