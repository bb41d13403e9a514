//! Builds the list of an expression's nodes bottom-up, and numbers its labels and operands.
//!
//! Invariant: a node is added after its inputs. The builder does not check its input; the parsers and `check` do.

use std::collections::HashMap;

use crate::{Expression, Form, Index, IndexKind, Label, Node, NodeId, NodeKind, Span, Term};

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

    /// Returns the index whose label is written at `span`. A label that is new gets the next number.
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

    /// Returns the expression. Its root is the node that was added last.
    pub fn finish(self, form: Form) -> Expression {
        Expression { text: self.text.to_owned(), form, names: self.names, nodes: self.nodes }
    }

    fn node(&mut self, span: Span, kind: NodeKind) -> NodeId {
        self.nodes.push(Node { span, kind });
        // The number fits in `u32`, because there are at most three more nodes than bytes in the text (see
        // `MAX_TEXT_BYTES`).
        NodeId((self.nodes.len() - 1) as u32)
    }
}
