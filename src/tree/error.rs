//! Defines the error for shapes that do not match an expression.

use einsum_parser::{Span, render_carets};

/// The shapes of operands do not match the expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeError {
    /// The expression in canonical form.
    pub text: String,
    /// The error message, on a single line.
    pub message: String,
    /// Positions in the text that the message concerns, each with a note. The first position is the main one.
    pub places: Vec<(Span, String)>,
    /// Advice on how to correct the mistake.
    pub help: Option<String>,
}

impl ShapeError {
    /// Formats the message and the text, with carets under each position.
    pub fn render(&self) -> String {
        render_carets(&self.text, &self.message, &self.places, self.help.as_deref())
    }
}

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ShapeError {}

/// Formats a count with its noun, such as "1 operand" or "3 operands".
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
