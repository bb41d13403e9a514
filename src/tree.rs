//! Turns an expression and shapes into a tree of steps.
//!
//! ```text
//! Expression --shapes--> Einsums (any number of inputs each) --an order for each--> Tree
//! ```
//!
//! First, labels become dimensions. Those that a bracket sums are local to it, so the two `j` in `[ij->i],jk->ik`
//! differ. Ellipses become right-aligned dimensions, implicit outputs become explicit, and dimensions of extent 1 are
//! broadcast. Unary steps remove repeated labels of a contraction's operand, and labels of no other tensor.
//!
//! Invariants: every node comes after its inputs; the last is the root. Only leaves may repeat labels. Every label of a
//! contraction is of kind c, m, n or k. No function is recursive, so only memory limits the depth.

mod build;
mod einsums;
mod names;
mod scope;

pub use einsums::{Einsum, EinsumSource, Einsums};

use einsum_parser::{Span, render_carets};
use serde::{Deserialize, Serialize};

use crate::dims::{Kinds, Label};

/// A node's index in a [`Tree`].
pub type NodeId = usize;

/// A unary operation, which can also reorder dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnaryOp {
    /// Reorders dimensions, or copies the tensor.
    Permute,
    /// Sums over labels not in the result.
    Sum,
    /// Selects equal indices of repeated labels, and sums like `Sum`.
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

/// An einsum before its contraction order is chosen.
#[derive(Debug)]
pub struct Network<'a> {
    /// Labels may repeat or occur in only one input.
    pub tensors: Vec<&'a [Label]>,
    pub output: &'a [Label],
    /// Indexed by label.
    pub extents: &'a [usize],
}

/// A contraction order: groups of tensors that are contracted into one. Inputs have the numbers 0 to n - 1, and results
/// those from n on, in order. Each number but the last occurs in exactly one group.
pub type Order = Vec<Vec<usize>>;

pub fn left_to_right(tensors: usize) -> Order {
    let left = |step: usize| if step == 0 { 0 } else { tensors + step - 1 };
    (1..tensors).map(|right| vec![left(right - 1), right]).collect()
}

/// A tensor in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Slowest-varying first.
    pub labels: Vec<Label>,
    /// The step that computes the tensor.
    pub step: Step,
    /// The position in the text.
    pub span: Span,
}

/// An expression's tree of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Distinct names of dimensions, indexed by label. After the first with a letter, others have primes or numbers
    /// appended.
    pub names: Vec<String>,
    /// Indexed by label.
    pub extents: Vec<usize>,
    /// Each after its inputs. The last is the result.
    pub nodes: Vec<Node>,
    /// The number of operands.
    pub operands: usize,
    /// Labels that the path search slices under a memory limit.
    pub sliced: Vec<Label>,
}

impl Tree {
    /// Builds a tree; `order` gives each einsum's order.
    ///
    /// # Errors
    /// If `order` fails.
    pub fn new<E>(einsums: &Einsums, order: impl FnMut(&Network) -> Result<Order, E>) -> Result<Tree, E> {
        build::build(einsums, order)
    }

    /// Contracts every einsum from left to right.
    pub fn left_to_right(einsums: &Einsums) -> Tree {
        let Ok(tree) =
            Tree::new(einsums, |network| Ok::<_, std::convert::Infallible>(left_to_right(network.tensors.len())));
        tree
    }

    /// The result's node.
    pub fn root(&self) -> NodeId {
        self.nodes.len() - 1
    }

    /// A dimension's name.
    pub fn name(&self, label: Label) -> &str {
        &self.names[label.0 as usize]
    }

    /// A dimension's extent.
    pub fn extent(&self, label: Label) -> usize {
        self.extents[label.0 as usize]
    }

    /// The shape of a tensor with these labels.
    pub fn shape(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|&label| self.extent(label)).collect()
    }

    /// A term such as `mk`, or `[m0,k0]` if a name has several characters.
    pub fn term(&self, labels: &[Label]) -> String {
        term(&self.names, labels)
    }

    /// A step such as `mk,kn->mn`.
    pub fn step_text(&self, node: NodeId) -> String {
        let term = |id: NodeId| self.term(&self.nodes[id].labels);
        match &self.nodes[node].step {
            Step::Leaf { .. } => term(node),
            Step::Unary { input, .. } => format!("{}->{}", term(*input), term(node)),
            Step::Contract { left, right, .. } => format!("{},{}->{}", term(*left), term(*right), term(node)),
        }
    }

    pub(crate) fn contractions(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.step, Step::Contract { .. })).count()
    }

    pub(crate) fn elements(&self, labels: &[Label]) -> f64 {
        labels.iter().map(|&label| self.extent(label) as f64).product()
    }

    pub(crate) fn all_products(&self) -> f64 {
        (0..self.nodes.len()).map(|node| self.products(node)).sum()
    }

    /// Multiply-adds in a contraction; 0 for other steps.
    pub fn products(&self, node: NodeId) -> f64 {
        match &self.nodes[node].step {
            Step::Contract { kinds, .. } => kinds.iter().map(|(label, _)| self.extent(label) as f64).product(),
            _ => 0.0,
        }
    }
}

/// The left input is first.
pub fn inputs(step: &Step) -> [Option<NodeId>; 2] {
    match *step {
        Step::Leaf { .. } => [None; 2],
        Step::Unary { input, .. } => [Some(input), None],
        Step::Contract { left, right, .. } => [Some(left), Some(right)],
    }
}

/// The step that has each node as input.
pub fn consumers(tree: &Tree) -> Vec<Option<NodeId>> {
    let mut consumers = vec![None; tree.nodes.len()];
    for (id, node) in tree.nodes.iter().enumerate() {
        inputs(&node.step).into_iter().flatten().for_each(|input| consumers[input] = Some(id));
    }
    consumers
}

/// `names` are indexed by label.
pub fn term(names: &[String], labels: &[Label]) -> String {
    let names: Vec<&str> = labels.iter().map(|label| names[label.0 as usize].as_str()).collect();
    if names.iter().any(|name| name.chars().count() != 1) { format!("[{}]", names.join(",")) } else { names.concat() }
}

/// The operands' shapes do not match the expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ShapeError {
    /// In canonical form.
    pub text: String,
    /// On a single line.
    pub message: String,
    /// Positions with notes, the main one first.
    pub places: Vec<(Span, String)>,
    /// How to correct the mistake.
    pub help: Option<String>,
}

impl ShapeError {
    /// The message and the text with carets.
    pub fn render(&self) -> String {
        render_carets(&self.text, &self.message, &self.places, self.help.as_deref())
    }
}

/// "1 operand" or "3 operands".
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
