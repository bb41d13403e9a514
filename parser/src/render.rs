//! Places in a text, and errors rendered for a terminal: a message, and the text on one line, with carets under marked
//! places. Places too far apart for it have separate lines, with only the text around each. `^` marks the first place,
//! and `-` the others.
//!
//! Guarantee: rendering never panics. Spans may be in any order, and outside the text. A character has one column,
//! except that a combining one has none, and a wide East Asian one two.

use std::iter::repeat_n;
use std::ops::Range;

const MAX_COLUMNS: usize = 100;
const COLUMNS_BEFORE: usize = 30;
/// A clipped line shows at least this many columns of a marked place, or all.
const MIN_MARK_COLUMNS: usize = 40;

/// A half-open range of bytes in a text. An empty span is between two characters.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes `start..end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The empty span before byte `at`.
    #[must_use]
    pub const fn at(at: usize) -> Self {
        Self { start: at, end: at }
    }

    /// The smallest span that contains both spans.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether `other` is inside this span.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

struct Line {
    shown: Vec<char>,
    /// Each character's first byte, and the end; `columns` has their first columns.
    bytes: Vec<usize>,
    columns: Vec<usize>,
}

struct Mark<'a> {
    start: usize,
    end: usize,
    primary: bool,
    words: &'a str,
}

/// The message, the text with a mark and an explanation under each place, and the help.
#[must_use]
pub fn render_carets(text: &str, message: &str, places: &[(Span, String)], help: Option<&str>) -> String {
    let line = Line::new(text);
    let mut marks: Vec<Mark<'_>> =
        places.iter().enumerate().map(|(position, (span, words))| line.mark(*span, position == 0, words)).collect();
    marks.sort_by_key(|mark| mark.start);
    let mut out = format!("{message}\n");
    if !line.shown.is_empty() && !marks.is_empty() {
        out.push_str("  |\n");
    }
    let mut rest = marks.as_mut_slice();
    while let Some(first) = rest.first().filter(|_| !line.shown.is_empty()) {
        let window = line.window(first.start);
        let near = line.columns[window.end];
        let beside = |mark: &&Mark<'_>| {
            let end = line.columns[mark.end].min(line.columns[mark.start] + MIN_MARK_COLUMNS);
            mark.start == first.start || end <= near
        };
        let count = rest.iter().take_while(beside).count();
        let (same_line, later) = rest.split_at_mut(count);
        same_line.sort_by_key(|mark| !mark.primary);
        line.draw(&mut out, window, same_line);
        rest = later;
    }
    if let Some(help) = help {
        out.push_str("  = help: ");
        out.push_str(help);
        out.push('\n');
    }
    out
}

impl Line {
    fn new(text: &str) -> Self {
        let text = text.trim_end();
        let mut line = Self { shown: Vec::new(), bytes: Vec::new(), columns: Vec::new() };
        let mut column = 0;
        for (byte, c) in text.char_indices() {
            let c = visible(c);
            line.bytes.push(byte);
            line.columns.push(column);
            line.shown.push(c);
            column += width(c);
        }
        line.bytes.push(text.len());
        line.columns.push(column);
        line
    }

    fn mark<'a>(&self, span: Span, primary: bool, words: &'a str) -> Mark<'a> {
        let last = self.shown.len();
        // Include a character inside which the span starts.
        let start = self.bytes.partition_point(|byte| *byte <= span.start).saturating_sub(1);
        let end = self.bytes.partition_point(|byte| *byte < span.end).min(last);
        Mark { start, end: end.max(start), primary, words }
    }

    /// Characters to show if the first place is at `first`.
    fn window(&self, first: usize) -> Range<usize> {
        let last = self.shown.len();
        let all = self.columns[last];
        if all <= MAX_COLUMNS {
            return 0..last;
        }
        let from = self.columns[first].saturating_sub(COLUMNS_BEFORE).min(all - MAX_COLUMNS);
        let start = self.columns.partition_point(|column| *column < from);
        let end = self.columns.partition_point(|column| *column <= from + MAX_COLUMNS) - 1;
        start..end
    }

    fn draw(&self, out: &mut String, window: Range<usize>, marks: &[Mark<'_>]) {
        let before = if window.start > 0 { "… " } else { "" };
        let after = if window.end < self.shown.len() { " …" } else { "" };
        out.push_str("  | ");
        out.push_str(before);
        out.extend(&self.shown[window.clone()]);
        out.push_str(after);
        out.push('\n');
        for mark in marks {
            let from = self.columns[mark.start] - self.columns[window.start] + before.chars().count();
            let end = self.columns[mark.end.min(window.end).max(mark.start)];
            let length = (end - self.columns[mark.start]).max(1);
            out.push_str("  | ");
            out.extend(repeat_n(' ', from));
            out.extend(repeat_n(if mark.primary { '^' } else { '-' }, length));
            if !mark.words.is_empty() {
                out.push(' ');
                out.push_str(mark.words);
            }
            out.push('\n');
        }
    }
}

fn visible(c: char) -> char {
    if c.is_whitespace() {
        return ' ';
    }
    let seen = matches!(c, '\'' | '"' | '\\') || width(c) == 0 || c.escape_debug().count() == 1;
    if seen { c } else { char::REPLACEMENT_CHARACTER }
}

/// Terminal columns, by large blocks of Unicode.
fn width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}
