//! What is said on standard error.
//!
//! Invariant: nobody is told twice. Where standard error cannot be written, as on a full disk or where its reader has gone, the
//! program goes on: `eprintln!` would panic there, and the report of the panic would panic again, which loses the result.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a text as it is, by one call of the system: other ranks speak, too.
pub fn write(text: Arguments<'_>) {
    // Nobody is left to tell.
    let _ = std::io::stderr().write_all(text.to_string().as_bytes());
}

/// Says a line on standard error, in place of `eprintln!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::say::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;
