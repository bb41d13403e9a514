//! Defines a span, which is a place in a text as a half-open range of byte offsets. An empty span is a place between
//! two characters.
//!
//! A span does not contain the text. The module `render` computes columns.

/// A half-open range of byte offsets into the text.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// Returns the span of the bytes `start..end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the empty span before byte `at`.
    #[must_use]
    pub const fn at(at: usize) -> Self {
        Self { start: at, end: at }
    }

    /// Returns the smallest span that contains both spans.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns whether `other` is inside this span.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}
