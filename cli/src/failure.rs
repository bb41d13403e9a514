//! Failures that end the program early, with messages and exit codes.
//!
//! The message is the same in every output format.

use std::fmt::Arguments;
use std::io::{IsTerminal, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use einsum_dist::Error;
use einsum_dist::api::{Rank, host};
use einsum_dist::comm::launcher::launcher;
use einsum_dist::io::output::without_code;
use einsum_dist::memory::OutOfMemory;
use einsum_parser::{Span, render_carets};

use super::{Result, write_out};

/// Writes to standard error in one system call, which keeps ranks apart. Ignores a full disk or closed pipe, at which
/// `eprintln!` would panic.
pub(crate) fn write(text: Arguments<'_>) {
    let _ = std::io::stderr().write_all(text.to_string().as_bytes());
}

macro_rules! say {
    ($($text:tt)*) => { $crate::failure::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;

/// Maximum bytes of an unclipped expression.
const WHOLE_LINES: usize = 400;

/// Maximum bytes of a message, without carets and the text above them.
const MAX_MESSAGE_BYTES: usize = 4000;

#[derive(Debug)]
pub enum Failure {
    Arguments(clap::Error),
    Library(Error),
    Print(std::io::Error),
    /// The result is wrong, as the printed report says.
    Check,
    /// A trace or timeline file cannot be written, after the result was printed.
    TraceFile(Error),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Library(error.into())
    }
}

/// Adds this rank and its host to an allocation error.
pub fn memory<V>(had: std::result::Result<V, OutOfMemory>) -> Result<V> {
    let rank = || Rank { number: launcher().map_or(0, |launcher| launcher.rank), host: host::name() };
    Ok(had.map_err(|cause| Error::Memory { rank: rank(), cause })?)
}

impl Failure {
    /// 2 for invalid input, 1 for a failed run or check.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Arguments(_) => 2,
            Failure::Library(error) if error.is_input() => 2,
            Failure::Library(_) | Failure::Print(_) | Failure::Check | Failure::TraceFile(_) => 1,
        }
    }

    /// Prints the failure on standard error and, if `json`, on standard output unless a result is there; nothing for
    /// [`Failure::Check`].
    pub fn print(&self, json: bool) {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        match self {
            Failure::Arguments(error) => {
                let text = error.to_string();
                if text.len() > MAX_MESSAGE_BYTES {
                    say!("{}", clipped(text.trim_end()));
                } else {
                    // The error has nowhere else to go.
                    let _ = error.print();
                    if !text.ends_with('\n') {
                        write(format_args!("\n"));
                    }
                }
            }
            Failure::Library(Error::Parse(error)) => {
                let mut places = vec![(error.span, error.label())];
                places.extend(error.related.iter().cloned());
                let help = error.help();
                write(format_args!("{}", pointed(&error.text, &error.message(), &places, help.as_deref(), colour)));
            }
            Failure::Library(Error::Shape(error)) => {
                let help = error.help.as_deref();
                write(format_args!("{}", pointed(&error.text, &error.message, &error.places, help, colour)));
            }
            Failure::Check => return,
            Failure::TraceFile(_) => return say!("error: {}", self.message()),
            Failure::Library(_) | Failure::Print(_) => say!("error: {}", self.message()),
        }
        if json {
            let (kind, message) = (self.kind(), self.message());
            let error = serde_json::json!({ "schema": 1, "error": { "kind": kind, "message": message } });
            // The error has nowhere else to go.
            let _ = write_out(&format!("{error}\n"));
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Arguments(_) => "usage",
            Failure::Print(_) | Failure::TraceFile(_) => "output",
            Failure::Check => "check",
            Failure::Library(error) => match error {
                Error::Parse(_) => "parse",
                Error::Shape(_) => "shape",
                Error::Plan(_) => "plan",
                Error::Kernel(_) => "kernel",
                Error::Npy(_) | Error::File(_) | Error::Output { .. } | Error::Save { .. } => "file",
                Error::Checkpoint { .. } => "checkpoint",
                Error::Stopped { .. } => "stopped",
                Error::Usage(_) => "usage",
                Error::Comm(_) => "communication",
                Error::Memory { .. } | Error::HostMemory { .. } | Error::ProcessMemory { .. } => "memory",
                Error::Elsewhere { input: true, .. } => "input",
                _ => "run",
            },
        }
    }

    pub fn message(&self) -> String {
        clipped(&self.whole_message())
    }

    fn whole_message(&self) -> String {
        match self {
            Failure::Arguments(error) => {
                let text = error.to_string();
                let lines = text.trim_start_matches("error: ").lines().take_while(|line| !line.trim().is_empty());
                lines.map(str::trim).collect::<Vec<_>>().join(" ")
            }
            Failure::Library(error) | Failure::TraceFile(error) => error.to_string(),
            Failure::Print(error) => format!("cannot write to standard output: {}", without_code(error)),
            Failure::Check => "the result is outside the error bound".to_owned(),
        }
    }
}

fn clipped(text: &str) -> String {
    if text.len() <= MAX_MESSAGE_BYTES {
        return text.to_owned();
    }
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (head, tail) = (boundary(MAX_MESSAGE_BYTES / 2), boundary(text.len() - MAX_MESSAGE_BYTES / 4));
    format!("{}[..]{}", &text[..head], &text[tail..])
}

fn pointed(text: &str, message: &str, places: &[(Span, String)], help: Option<&str>, colour: bool) -> String {
    let text = text.trim_end();
    if text.is_empty() || text.len() > WHOLE_LINES {
        return format!("error: {}", render_carets(text, message, places, help));
    }
    let inside = |span: &Span| span.start.min(text.len())..span.end.min(text.len());
    let annotations = places.iter().enumerate().map(|(position, (span, words))| {
        let kind = if position == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        kind.span(inside(span)).label(words.as_str())
    });
    let snippet = Snippet::source(text).annotations(annotations);
    let group = Group::with_title(Level::ERROR.primary_title(message)).element(snippet);
    let group = match help {
        Some(help) => group.element(Level::HELP.message(help)),
        None => group,
    };
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    format!("{}\n", renderer.render(&[group]))
}
