//! Writes messages to standard error.
//!
//! A message to a full disk or closed pipe is dropped, whereas `eprintln!` would panic, twice, and lose the result.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a text in one system call, which keeps ranks apart.
pub fn write(text: Arguments<'_>) {
    // If standard error is closed, there is nowhere to report the failure.
    let _ = std::io::stderr().write_all(text.to_string().as_bytes());
}

macro_rules! say {
    ($($text:tt)*) => { $crate::say::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;
