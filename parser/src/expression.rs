//! The parsed expression: an arena of nodes in post-order, each with a span in the text.
//!
//! Invariants: children precede their parent, and the root is last. Operands are numbered in written order, and labels
//! by first appearance. Only the root of a [`Form::Einsum`] may omit its output. Cloning, comparing and dropping need
//! no recursion.
//!
//! [`Builder`] constructs expressions. They are immutable afterwards.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write};

use crate::Span;

/// A dimension's name, as an index into [`Expression::names`], by first appearance.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Label(pub u32);

/// A node, as an index into [`Expression::nodes`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A text's notation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// One einsum without brackets, with single-character labels, such as `mk,kn->mn`.
    Einsum,
    /// A tree where every bracket is an einsum with an arrow, such as `[ij,jk->ik],kl->il`.
    Tree,
    /// A tree where a bracket without an arrow lists the names of a tensor's dimensions, such as
    /// `[m0,k0],[k0,n0]->[m0,n0]`.
    EinsumIr,
}

/// A parsed expression, from [`parse`](crate::parse).
///
/// `==` also compares the text and all spans, unlike [`Expression::same_structure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    pub(crate) text: String,
    pub(crate) form: Form,
    pub(crate) names: Vec<String>,
    pub(crate) nodes: Vec<Node>,
}

/// An operand or an einsum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The span in the text, including brackets.
    pub span: Span,
    /// The node's kind.
    pub kind: NodeKind,
}

/// A node's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A leaf of the tree.
    Operand {
        /// Position among operands, in written order.
        index: usize,
        /// The operand's indices.
        term: Term,
    },
    /// An einsum with one or more inputs.
    Einsum {
        /// The inputs, in written order.
        inputs: Vec<NodeId>,
        /// The output; `None` if implicit, which only the root of a [`Form::Einsum`] can be.
        output: Option<Term>,
    },
}

/// One operand's or output's indices; empty for a 0-dimensional tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The span in the text, with brackets in an einsum_ir tree. In the other forms, an empty term has an empty span.
    pub span: Span,
    /// The indices, in written order.
    pub indices: Vec<Index>,
}

/// An index of a term.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The span in the text.
    pub span: Span,
    /// The index's kind.
    pub kind: IndexKind,
}

/// An index's kind.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// One dimension's label.
    Label(Label),
    /// `...`, any number of dimensions; at most one per term, and none in an einsum_ir tree.
    Ellipsis,
}

impl Expression {
    /// The text as typed. `to_string()` returns the canonical text instead.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text's notation.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// All labels' names, indexed by [`Label`].
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A label's name.
    ///
    /// # Panics
    /// If `label` belongs to an expression with more labels than this one.
    #[must_use]
    pub fn name(&self, label: Label) -> &str {
        &self.names[label.0 as usize]
    }

    /// The root, the last node.
    #[must_use]
    pub fn root(&self) -> NodeId {
        // Fits in `u32`; see `MAX_TEXT_BYTES`.
        NodeId((self.nodes.len() - 1) as u32)
    }

    /// All nodes in post-order: children precede their parents.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node with this index.
    ///
    /// # Panics
    /// If `id` belongs to an expression with more nodes than this one.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// All operands' terms, in written order.
    pub fn operands(&self) -> impl Iterator<Item = &Term> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Operand { term, .. } => Some(term),
            NodeKind::Einsum { .. } => None,
        })
    }

    /// Whether both are the same tree with the same names, however typed.
    #[must_use]
    pub fn same_structure(&self, other: &Self) -> bool {
        self.form == other.form
            && self.names == other.names
            && self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(|(a, b)| a.same_structure(b))
    }
}

impl Node {
    /// An operand's term, or an einsum's output; `None` if implicit.
    #[must_use]
    pub fn term(&self) -> Option<&Term> {
        match &self.kind {
            NodeKind::Operand { term, .. } => Some(term),
            NodeKind::Einsum { output, .. } => output.as_ref(),
        }
    }

    fn same_structure(&self, other: &Self) -> bool {
        let same_inputs = match (&self.kind, &other.kind) {
            (NodeKind::Operand { index: a, .. }, NodeKind::Operand { index: b, .. }) => a == b,
            (NodeKind::Einsum { inputs: a, .. }, NodeKind::Einsum { inputs: b, .. }) => a == b,
            _ => false,
        };
        let kinds = |node: &Self| -> Option<Vec<IndexKind>> {
            Some(node.term()?.indices.iter().map(|index| index.kind).collect())
        };
        same_inputs && kinds(self) == kinds(other)
    }
}

impl Term {
    /// The labels in written order, without the ellipsis.
    pub fn labels(&self) -> impl Iterator<Item = Label> {
        self.indices.iter().filter_map(|index| match index.kind {
            IndexKind::Label(label) => Some(label),
            IndexKind::Ellipsis => None,
        })
    }

    /// The ellipsis's span, if there is one.
    #[must_use]
    pub fn ellipsis(&self) -> Option<Span> {
        self.indices.iter().find(|index| index.kind == IndexKind::Ellipsis).map(|index| index.span)
    }
}

/// Writes the canonical text, which parses to the same structure. An explicit stack allows trees of any depth.
impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Nodes to write, each with its number of written inputs.
        let mut stack: Vec<(NodeId, usize)> = vec![(self.root(), 0)];
        while let Some((id, done)) = stack.pop() {
            match &self.node(id).kind {
                NodeKind::Operand { term, .. } => self.write_term(f, term)?,
                NodeKind::Einsum { inputs, output } => {
                    let nested = id != self.root();
                    if nested && done == 0 {
                        f.write_char('[')?;
                    }
                    if let Some(input) = inputs.get(done) {
                        if done > 0 {
                            f.write_char(',')?;
                        }
                        stack.push((id, done + 1));
                        stack.push((*input, 0));
                        continue;
                    }
                    if let Some(output) = output {
                        f.write_str("->")?;
                        self.write_term(f, output)?;
                    }
                    if nested {
                        f.write_char(']')?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Expression {
    fn write_term(&self, f: &mut Formatter<'_>, term: &Term) -> fmt::Result {
        let ir = self.form() == Form::EinsumIr;
        if ir {
            f.write_char('[')?;
        }
        for (position, index) in term.indices.iter().enumerate() {
            if ir && position > 0 {
                f.write_char(',')?;
            }
            match index.kind {
                IndexKind::Label(label) => f.write_str(self.name(label))?,
                IndexKind::Ellipsis => f.write_str("...")?,
            }
        }
        if ir {
            f.write_char(']')?;
        }
        Ok(())
    }
}

/// Builds an expression bottom-up; the parsers and `check` check the input.
pub(crate) struct Builder<'a> {
    text: &'a str,
    labels: HashMap<&'a str, Label>,
    names: Vec<String>,
    nodes: Vec<Node>,
    operands: usize,
}

impl<'a> Builder<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, labels: HashMap::new(), names: Vec::new(), nodes: Vec::new(), operands: 0 }
    }

    pub fn index(&mut self, span: Span) -> Index {
        let name = &self.text[span.start..span.end];
        let label = *self.labels.entry(name).or_insert_with(|| {
            self.names.push(name.to_owned());
            // Fits in `u32`, because the text has fewer names than bytes.
            Label((self.names.len() - 1) as u32)
        });
        Index { span, kind: IndexKind::Label(label) }
    }

    pub fn operand(&mut self, term: Term) -> NodeId {
        let index = self.operands;
        self.operands += 1;
        self.node(term.span, NodeKind::Operand { index, term })
    }

    pub fn einsum(&mut self, span: Span, inputs: Vec<NodeId>, output: Option<Term>) -> NodeId {
        self.node(span, NodeKind::Einsum { inputs, output })
    }

    pub fn finish(self, form: Form) -> Expression {
        Expression { text: self.text.to_owned(), form, names: self.names, nodes: self.nodes }
    }

    fn node(&mut self, span: Span, kind: NodeKind) -> NodeId {
        self.nodes.push(Node { span, kind });
        // Fits in `u32`; see `MAX_TEXT_BYTES`.
        NodeId((self.nodes.len() - 1) as u32)
    }
}
