//! Errors for invalid texts, with the kind and place of the mistake.

use std::sync::Arc;

use crate::{Span, message, render_carets};

/// The error for a text that is not a valid expression.
///
/// `to_string()` returns the message on one line. [`ParseError::render`] also marks the mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", message::message(self))]
pub struct ParseError {
    /// The kind of the mistake.
    pub kind: ErrorKind,
    /// The place of the mistake; empty if something is missing between two characters.
    pub span: Span,
    /// Other places that explain the mistake, each with a remark.
    pub related: Vec<(Span, String)>,
    /// The complete text as typed.
    pub text: Arc<str>,
    pub(crate) labels: Vec<String>,
    pub(crate) advice: Option<String>,
}

/// The mistakes that [`parse`](crate::parse) distinguishes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// More than 2 GiB of text.
    TooLong,
    /// No text.
    Empty,
    /// Only white space.
    OnlyWhiteSpace,
    /// `-` at the end, probably because the shell took an unquoted `>` for a redirection.
    UnquotedArrow,
    /// `- >`.
    SpaceInArrow,
    /// `-` without `>`.
    LoneDash,
    /// `>` without `-`.
    LoneGreater,
    /// `=>`, `→` or another arrow for `->`.
    ForeignArrow,
    /// `. . .`.
    SpaceInEllipsis,
    /// `.` or `..`.
    TooFewDots,
    /// `....` or more.
    TooManyDots,
    /// `=`.
    EqualsSign,
    /// `:`.
    Colon,
    /// `;`.
    Semicolon,
    /// `"`.
    Quote,
    /// `@`.
    AtSign,
    /// `(` or `)`.
    Parenthesis,
    /// `[` without `]`.
    UnclosedBracket,
    /// `]` without `[`.
    UnopenedBracket,
    /// Two arrows in one einsum.
    SecondArrow,
    /// A comma after the arrow.
    SecondOutput,
    /// A bracket after the arrow (a subtree, in an einsum_ir tree).
    BracketInOutput,
    /// Text after an einsum_ir tree's output.
    TextAfterOutput,
    /// A bracket around other brackets, without an arrow of its own.
    MissingArrowInBracket,
    /// A tree without an arrow outside all brackets.
    MissingOuterArrow,
    /// One bracket around the whole expression.
    BracketedWhole,
    /// A comma at the end.
    TrailingComma,
    /// `][`.
    MissingCommaBetweenBrackets,
    /// A label directly before `[`.
    MissingCommaBeforeBracket,
    /// A label directly after `]`.
    MissingCommaAfterBracket,
    /// An output label that no input has.
    UnknownOutputLabel,
    /// An output label only inside inner brackets, which sum it away.
    SummedAwayLabel,
    /// A label twice in one output.
    RepeatedOutputLabel,
    /// Two ellipses in one term.
    SecondEllipsis,
    /// An ellipsis in an einsum_ir tree.
    EllipsisInIr,
    /// Names outside brackets in an einsum_ir tree.
    BareName,
    /// An output outside brackets in an einsum_ir tree.
    BareOutput,
    /// An arrow directly after names in an einsum_ir tree, probably missing in another bracket.
    ArrowAmongNames,
    /// A bracket among names.
    BracketAmongNames,
    /// White space between two names.
    SpaceInName,
    /// A character in an einsum_ir tree's name other than letters, digits and `_`.
    BadNameCharacter,
    /// Nothing before a comma in a list of names.
    EmptyName,
    /// A comma at the end of a list of names.
    TrailingCommaInList,
    /// No bracket before a comma or arrow in an einsum_ir tree.
    MissingOperand,
    /// No bracket after an arrow in an einsum_ir tree.
    MissingOutput,
}

impl ParseError {
    pub(crate) fn new(text: &str, kind: ErrorKind, span: Span) -> Self {
        // Text too long to parse is too long to copy.
        let text = if kind == ErrorKind::TooLong { "" } else { text };
        Self { kind, span, related: Vec::new(), text: text.into(), labels: Vec::new(), advice: None }
    }

    pub(crate) fn relate(mut self, place: Span, words: &str) -> Self {
        self.related.push((place, words.to_owned()));
        self
    }

    pub(crate) fn concerning<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.labels.extend(names.into_iter().map(str::to_owned));
        self
    }

    pub(crate) fn advise(mut self, advice: String) -> Self {
        self.advice = Some(advice);
        self
    }

    /// A sentence about the mistake.
    #[must_use]
    pub fn message(&self) -> String {
        message::message(self)
    }

    /// A short text for the caret.
    #[must_use]
    pub fn label(&self) -> String {
        message::label(self.kind).to_owned()
    }

    /// How to correct the mistake, or `None` if no correction is likely.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        self.advice.clone().or_else(|| message::help(self.kind).map(str::to_owned))
    }

    /// The mistake's labels.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The message, the text with carets under the marked places, and the help.
    #[must_use]
    pub fn render(&self) -> String {
        let mut places = vec![(self.span, self.label())];
        places.extend(self.related.iter().cloned());
        render_carets(&self.text, &self.message(), &places, self.help().as_deref())
    }
}
