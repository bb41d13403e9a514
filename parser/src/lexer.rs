//! Splits a text into tokens, in the same way for all three forms (notations).
//!
//! A [`TokenKind::Word`] is a run of label characters without white space. In an einsum_ir tree, a word is one name. In
//! the other two forms, each character of a word is a label. The module `stray` provides the error for a character that
//! cannot start a token.
//!
//! The rules for the order of tokens are in `brackets`, `parse_terms` and `parse_ir`.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::char;
use nom::combinator::{consumed, value, verify};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use crate::{ParseError, Span, stray};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Open,
    Close,
    Comma,
    Arrow,
    Ellipsis,
    Word,
}

#[derive(Copy, Clone, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

impl Token {
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.span.start..self.span.end]
    }
}

fn is_label(c: char) -> bool {
    !c.is_whitespace() && !"=:;()[].,\"@->".contains(c)
}

fn space(input: &str) -> IResult<&str, &str> {
    take_while(char::is_whitespace).parse(input)
}

fn token(input: &str) -> IResult<&str, TokenKind> {
    // Read all consecutive dots as one run, so that a fourth dot is not read as the start of the next token.
    let dots = verify(take_while1(|c| c == '.'), |dots: &str| dots.len() == 3);
    alt((
        value(TokenKind::Word, take_while1(is_label)),
        value(TokenKind::Comma, char(',')),
        value(TokenKind::Arrow, tag("->")),
        value(TokenKind::Open, char('[')),
        value(TokenKind::Close, char(']')),
        value(TokenKind::Ellipsis, dots),
    ))
    .parse(input)
}

pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let text_end = text.trim_end().len();
    let mut rest = &text[..text_end];
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let Ok((after, (found, kind))) = preceded(space, consumed(token)).parse(rest) else {
            return Err(stray::explain(text, text_end - rest.trim_start().len()));
        };
        let end = text_end - after.len();
        tokens.push(Token { kind, span: Span::new(end - found.len(), end) });
        rest = after;
    }
    Ok(tokens)
}

pub(crate) fn extent(tokens: &[Token]) -> Span {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => Span::at(0),
    }
}
