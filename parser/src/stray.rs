//! Provides the error for a character that cannot start a token.
//!
//! Each such character usually has a specific cause, such as an unquoted `>` in a shell, or a notation from a different
//! program. So most of these characters have their own kind of mistake.
//!
//! A character that is a legal label is not a mistake. There is one exception: if `->` is missing, the parsers search
//! the labels for an arrow character such as `→`.

use crate::{ErrorKind, ParseError, Span};

/// Dashes that word processors and other alphabets use in place of `-`.
const DASHES: &[char] = &['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}'];

/// Characters that are arrows in other notations. They are legal labels if the text also contains `->`.
const ARROWS: &[char] = &['→', '⇒', '⟶', '⟹', '⟼', '↦', '➔', '➙', '➛', '➜', '➝', '➞', '⇨', '➡'];

pub(crate) fn foreign_arrow(text: &str, place: Span) -> Option<Span> {
    let inside = &text[place.start..place.end];
    let (at, arrow) = inside.char_indices().find(|(_, c)| ARROWS.contains(c))?;
    let start = place.start + at;
    Some(Span::new(start, start + arrow.len_utf8()))
}

pub(crate) fn explain(text: &str, at: usize) -> ParseError {
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
        // Only parentheses remain, because every other character starts a token.
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
