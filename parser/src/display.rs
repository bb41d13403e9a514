//! Writes the canonical text of an expression. This text has the same notation as the typed text, and no white space.
//!
//! Parsing the canonical text gives the same structure again. The code uses an explicit stack instead of recursion, so
//! that trees can have any depth.

use std::fmt::{self, Display, Formatter, Write};

use crate::{Expression, Form, IndexKind, NodeId, NodeKind, Term};

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The nodes still to be written, each with the number of its inputs that are already written.
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
