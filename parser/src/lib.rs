//! Parses text into an [`Expression`]: an einsum, a tree of einsums in square brackets, or an einsum_ir tree.
//!
//! | form | example |
//! |---|---|
//! | [`Form::Einsum`] | `mk,kn->mn`, `ij,jk,kl` (implicit output), `...ij,...jk->...ik`, `->` |
//! | [`Form::Tree`]: every bracket contains an arrow | `[ij,jk->ik],kl->il` |
//! | [`Form::EinsumIr`]: brackets without an arrow list names | `[m0,c0,k0],[n0,c0,k0]->[m0,n0,c0]` |
//!
//! Invariants: an [`Expression`] has passed every check that needs no extents; every [`Span`] starts and ends at
//! character boundaries. Parsing takes linear time and never recurses, so it can handle 100,000 terms or levels of
//! brackets.
//!
//! An implicit output's labels are not determined here, because they depend on the dimensions that an ellipsis stands
//! for.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod brackets;
mod check;
mod error;
mod expression;
mod lexer;
mod message;
mod parse_ir;
mod parse_terms;
mod render;

pub use error::{ErrorKind, ParseError};
pub use expression::{Expression, Form, Index, IndexKind, Label, Node, NodeId, NodeKind, Term};
pub use render::{Span, render_carets};

/// Maximum bytes of a text: `u32` can number its labels and nodes, of which each takes a byte, except at most three
/// nodes.
const MAX_TEXT_BYTES: usize = u32::MAX as usize / 2;

/// Parses an expression in any form, with all checks that need no extents.
///
/// ```
/// use einsum_parser::{Form, parse};
///
/// let product = parse("mk, kn -> mn")?;
/// assert_eq!(product.form(), Form::Einsum);
/// assert_eq!(product.names(), ["m", "k", "n"]);
/// assert_eq!(product.to_string(), "mk,kn->mn");
/// # Ok::<(), einsum_parser::ParseError>(())
/// ```
///
/// # Errors
/// If the text is not a valid expression. The error describes the first mistake found, and its place in the text:
///
/// ```
/// let error = einsum_parser::parse("mk,kn->mx").unwrap_err();
/// assert_eq!(error.kind, einsum_parser::ErrorKind::UnknownOutputLabel);
/// assert_eq!(error.labels(), ["x"]);
/// assert!(error.render().starts_with("output label `x` is in none of the inputs"));
/// ```
pub fn parse(text: &str) -> Result<Expression, ParseError> {
    let whole = Span::new(0, text.len());
    if text.len() > MAX_TEXT_BYTES {
        return Err(ParseError::new(text, ErrorKind::TooLong, Span::at(0)));
    }
    let tokens = lexer::tokens(text)?;
    if tokens.is_empty() {
        let kind = if text.is_empty() { ErrorKind::Empty } else { ErrorKind::OnlyWhiteSpace };
        return Err(ParseError::new(text, kind, whole));
    }
    let expression = match brackets::shape(text, &tokens)? {
        brackets::Shape::Terms { form } => parse_terms::parse(text, &tokens, form)?,
        brackets::Shape::Ir { list } => parse_ir::parse(text, &tokens, list)?,
    };
    check::outputs(&expression)?;
    Ok(expression)
}
