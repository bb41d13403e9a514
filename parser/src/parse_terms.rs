//! Parses tokens into one einsum, or a tree of einsums in brackets. Every label is one character.
//!
//! An explicit stack has one frame per open bracket. `brackets` has checked the balance, and `check` checks output
//! labels later.

use crate::expression::Builder;
use crate::lexer::{Token, TokenKind};
use crate::{ErrorKind, Expression, Form, Index, IndexKind, NodeId, ParseError, Span, Term, lexer};

struct Frame {
    open: Span,
    inputs: Vec<NodeId>,
    arrow: Option<Span>,
    bracket: Option<Span>,
    /// The current term's indices. `empty` is its span if it has none.
    indices: Vec<Index>,
    empty: Span,
}

impl Frame {
    fn new(open: Span) -> Self {
        let empty = Span::at(open.end);
        Self { open, inputs: Vec::new(), arrow: None, bracket: None, indices: Vec::new(), empty }
    }

    fn take_term(&mut self) -> Term {
        let indices = std::mem::take(&mut self.indices);
        let span = match (indices.first(), indices.last()) {
            (Some(first), Some(last)) => first.span.to(last.span),
            _ => self.empty,
        };
        Term { span, indices }
    }

    fn end_input(&mut self, builder: &mut Builder<'_>, separator: Span) {
        if self.bracket.take().is_none() {
            let term = self.take_term();
            self.inputs.push(builder.operand(term));
        }
        self.empty = Span::at(separator.end);
    }
}

pub(crate) fn parse(text: &str, tokens: &[Token], form: Form) -> Result<Expression, ParseError> {
    let mut builder = Builder::new(text);
    let mut outer: Vec<Frame> = Vec::new();
    let mut frame = Frame::new(Span::at(0));
    for token in tokens {
        let mistake = |kind, place| Err(ParseError::new(text, kind, place));
        match token.kind {
            TokenKind::Word | TokenKind::Ellipsis => {
                if let Some(bracket) = frame.bracket {
                    return mistake(ErrorKind::MissingCommaAfterBracket, Span::at(bracket.end));
                }
                read_indices(text, *token, &mut frame.indices, &mut builder)?;
            }
            TokenKind::Comma => {
                if let Some(arrow) = frame.arrow {
                    let error = ParseError::new(text, ErrorKind::SecondOutput, token.span);
                    return Err(error.relate(arrow, "the output starts here"));
                }
                frame.end_input(&mut builder, token.span);
            }
            TokenKind::Arrow => {
                if let Some(arrow) = frame.arrow {
                    let error = ParseError::new(text, ErrorKind::SecondArrow, token.span);
                    return Err(error.relate(arrow, "the first arrow"));
                }
                frame.end_input(&mut builder, token.span);
                frame.arrow = Some(token.span);
            }
            TokenKind::Open => {
                if let Some(arrow) = frame.arrow {
                    let error = ParseError::new(text, ErrorKind::BracketInOutput, token.span);
                    return Err(error.relate(arrow, "the output starts here"));
                }
                if let Some(bracket) = frame.bracket {
                    return mistake(ErrorKind::MissingCommaBetweenBrackets, Span::at(bracket.end));
                }
                if !frame.indices.is_empty() {
                    return mistake(ErrorKind::MissingCommaBeforeBracket, token.span);
                }
                outer.push(std::mem::replace(&mut frame, Frame::new(token.span)));
            }
            TokenKind::Close => {
                if frame.arrow.is_none() {
                    let error = ParseError::new(text, ErrorKind::MissingArrowInBracket, token.span);
                    return Err(error.relate(frame.open, "the bracket opens here"));
                }
                let output = frame.take_term();
                let span = frame.open.to(token.span);
                let node = builder.einsum(span, std::mem::take(&mut frame.inputs), Some(output));
                // Brackets are balanced, so there is an outer frame.
                let Some(parent) = outer.pop() else { break };
                frame = parent;
                frame.inputs.push(node);
                frame.bracket = Some(span);
            }
        }
    }
    finish(text, tokens, form, frame, builder)
}

fn read_indices(
    text: &str,
    token: Token,
    indices: &mut Vec<Index>,
    builder: &mut Builder<'_>,
) -> Result<(), ParseError> {
    if token.kind == TokenKind::Ellipsis {
        if let Some(first) = indices.iter().find(|index| index.kind == IndexKind::Ellipsis) {
            let error = ParseError::new(text, ErrorKind::SecondEllipsis, token.span);
            return Err(error.relate(first.span, "the first `...`"));
        }
        indices.push(Index { span: token.span, kind: IndexKind::Ellipsis });
        return Ok(());
    }
    for (at, label) in token.of(text).char_indices() {
        let start = token.span.start + at;
        indices.push(builder.index(Span::new(start, start + label.len_utf8())));
    }
    Ok(())
}

fn finish(
    text: &str,
    tokens: &[Token],
    form: Form,
    mut frame: Frame,
    mut builder: Builder<'_>,
) -> Result<Expression, ParseError> {
    let whole = lexer::extent(tokens);
    let end = Span::at(whole.end);
    let output = if frame.arrow.is_some() {
        Some(frame.take_term())
    } else {
        if form == Form::Tree {
            if let Some(comma) = tokens.last().filter(|token| token.kind == TokenKind::Comma) {
                return Err(ParseError::new(text, ErrorKind::TrailingComma, comma.span));
            }
            return Err(match frame.bracket {
                Some(bracket) if bracket == whole => ParseError::new(text, ErrorKind::BracketedWhole, bracket),
                _ => ParseError::new(text, ErrorKind::MissingOuterArrow, end),
            });
        }
        if let Some(arrow) = lexer::foreign_arrow(text, whole) {
            return Err(ParseError::new(text, ErrorKind::ForeignArrow, arrow));
        }
        frame.end_input(&mut builder, end);
        None
    };
    builder.einsum(whole, frame.inputs, output);
    Ok(builder.finish(form))
}
