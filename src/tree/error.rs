//! Shapes that do not fit an expression.

use einsum_parser::{Span, render_carets};

/// Operands that do not fit the expression, with the places concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeError {
    /// The expression in canonical form.
    pub text: String,
    /// What is wrong, in one line.
    pub message: String,
    /// Places in the text, each with a note; the first is the main one.
    pub places: Vec<(Span, String)>,
    /// A suggestion for a fix.
    pub help: Option<String>,
}

impl ShapeError {
    /// The message with a caret under each place.
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

/// "1 operand", "3 operands".
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
