//! Defines the error for shapes that do not match an expression.

use einsum_parser::{Span, render_carets};

/// The operands' shapes do not match the expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ShapeError {
    /// In canonical form.
    pub text: String,
    /// On a single line.
    pub message: String,
    /// Positions in the text, each with a note; the main one first.
    pub places: Vec<(Span, String)>,
    /// How to correct the mistake.
    pub help: Option<String>,
}

impl ShapeError {
    /// The message and the text, with carets under each position.
    pub fn render(&self) -> String {
        render_carets(&self.text, &self.message, &self.places, self.help.as_deref())
    }
}

/// A count with its noun: "1 operand" or "3 operands".
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
