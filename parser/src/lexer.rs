//! Splits a text into tokens, alike for all forms (notations).
//!
//! A [`TokenKind::Word`] is a run of label characters without white space: one name in an einsum_ir tree, otherwise one
//! label per character.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::char;
use nom::combinator::{consumed, value, verify};
use nom::sequence::preceded;
use nom::{IResult, Parser};

use crate::{ErrorKind, ParseError, Span};

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
    // A fourth dot must not start the next token.
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
            return Err(explain(text, text_end - rest.trim_start().len()));
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

/// Dashes in place of `-`, from word processors and other alphabets.
const DASHES: &[char] = &['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}'];

/// Arrows of other notations. They are legal labels if the text also contains `->`.
const ARROWS: &[char] = &['→', '⇒', '⟶', '⟹', '⟼', '↦', '➔', '➙', '➛', '➜', '➝', '➞', '⇨', '➡'];

/// Finds an arrow among the labels of a text without `->`.
pub(crate) fn foreign_arrow(text: &str, place: Span) -> Option<Span> {
    let inside = &text[place.start..place.end];
    let (at, arrow) = inside.char_indices().find(|(_, c)| ARROWS.contains(c))?;
    let start = place.start + at;
    Some(Span::new(start, start + arrow.len_utf8()))
}

/// The error for a character that cannot start a token.
fn explain(text: &str, at: usize) -> ParseError {
    let rest = &text[at..];
    let (kind, length) = match rest.as_bytes().first() {
        Some(b'.') => dots(rest),
        Some(b'-') => dash(rest),
        Some(b'>') => match text[..at].chars().next_back().filter(|c| DASHES.contains(c)) {
            Some(dash) => {
                let place = Span::new(at - dash.len_utf8(), at + 1);
                return ParseError::new(text, ErrorKind::ForeignArrow, place);
            }
            None => (ErrorKind::LoneGreater, 1),
        },
        Some(b'=') if rest.starts_with("=>") => (ErrorKind::ForeignArrow, 2),
        Some(b'=') => (ErrorKind::EqualsSign, 1),
        Some(b':') => (ErrorKind::Colon, 1),
        Some(b';') => (ErrorKind::Semicolon, 1),
        Some(b'"') => (ErrorKind::Quote, 1),
        Some(b'@') => (ErrorKind::AtSign, 1),
        // Only parentheses remain.
        _ => (ErrorKind::Parenthesis, 1),
    };
    ParseError::new(text, kind, Span::new(at, at + length))
}

fn dots(rest: &str) -> (ErrorKind, usize) {
    let run = rest.len() - rest.trim_start_matches('.').len();
    if run > 3 {
        return (ErrorKind::TooManyDots, run);
    }
    let spread = rest.find(|c: char| c != '.' && !c.is_whitespace()).unwrap_or(rest.len());
    let spread = rest[..spread].trim_end();
    if spread.len() > run && spread.matches('.').count() == 3 {
        (ErrorKind::SpaceInEllipsis, spread.len())
    } else {
        (ErrorKind::TooFewDots, run)
    }
}

fn dash(rest: &str) -> (ErrorKind, usize) {
    let after = rest[1..].trim_start();
    if after.is_empty() {
        (ErrorKind::UnquotedArrow, 1)
    } else if after.starts_with('>') {
        (ErrorKind::SpaceInArrow, rest.len() - after.len() + 1)
    } else {
        (ErrorKind::LoneDash, 1)
    }
}
