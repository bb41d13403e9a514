//! Writes messages to standard error.
//!
//! If a message cannot be written because the disk is full or the pipe is closed, the message is dropped and the
//! program continues. `eprintln!` would panic instead, the report of that panic would panic again, and the result would
//! be lost.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a text in one system call, so that it is not interleaved with messages from other ranks.
pub fn write(text: Arguments<'_>) {
    // If standard error is closed, there is nowhere to report the failure.
    let _ = std::io::stderr().write_all(text.to_string().as_bytes());
}

/// Writes a line to standard error, in place of `eprintln!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;
