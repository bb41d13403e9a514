//! Messages on standard error.
//!
//! Invariant: a message that cannot be written, as on a full disk or after its reader has gone, is dropped and the
//! program continues. `eprintln!` would panic there, the report of that panic would panic again, and the result would
//! be lost.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a text unchanged, in one system call, because other ranks write too.
pub fn write(text: Arguments<'_>) {
    // Without standard error there is nowhere left to report.
    let _ = std::io::stderr().write_all(text.to_string().as_bytes());
}

/// Writes a line to standard error, in place of `eprintln!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;
