//! Determines a text's form (notation): an einsum_ir tree if an innermost bracket contains no arrow, otherwise a tree
//! if there are brackets, otherwise one einsum.
//!
//! Also checks that brackets are balanced, which parsers rely on, and an unclosed bracket must be reported before later
//! mistakes.

use crate::lexer::{Token, TokenKind};
use crate::{ErrorKind, Form, ParseError, Span};

pub(crate) enum Shape {
    /// An einsum or a tree. Every label is one character.
    Terms { form: Form },
    /// An einsum_ir tree. `list` is the first innermost bracket without an arrow.
    Ir { list: Span },
}

pub(crate) fn shape(text: &str, tokens: &[Token]) -> Result<Shape, ParseError> {
    let mut open = Vec::new();
    let mut list = None;
    // The last `[`, unless a bracket or arrow has followed.
    let mut plain: Option<Span> = None;
    let mut form = Form::Einsum;
    for token in tokens {
        match token.kind {
            TokenKind::Open => {
                form = Form::Tree;
                open.push(token.span);
                plain = Some(token.span);
            }
            TokenKind::Close => {
                if open.pop().is_none() {
                    return Err(ParseError::new(text, ErrorKind::UnopenedBracket, token.span));
                }
                if let Some(start) = plain.take() {
                    list = list.or(Some(start.to(token.span)));
                }
            }
            TokenKind::Arrow => plain = None,
            TokenKind::Comma | TokenKind::Ellipsis | TokenKind::Word => {}
        }
    }
    match (open.pop(), list) {
        (Some(unclosed), _) => Err(ParseError::new(text, ErrorKind::UnclosedBracket, unclosed)),
        (None, Some(list)) => Ok(Shape::Ir { list }),
        (None, None) => Ok(Shape::Terms { form }),
    }
}
