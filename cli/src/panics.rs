//! Handles panics and failed allocations, with one line each and no waiting ranks.
//!
//! The library reports panics of runs; all others are bugs in this program.

use std::fmt::Arguments;
use std::io::Write;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use einsum_dist::World;
use einsum_dist::comm::launcher::launcher;
use einsum_dist::exec::panic_message;
use einsum_dist::io::output::try_remove_temporaries;
use einsum_dist::memory::{end_at_once, report_with, share_few_addresses};

use super::failure::say;

/// Stack bytes touched at first, because growing later could fail.
const STACK: usize = 1 << 20;

/// Whether errors are also printed to standard output, as one JSON object.
static JSON: AtomicBool = AtomicBool::new(false);

static RANK: AtomicUsize = AtomicUsize::new(0);

/// Bytes for a line of the report.
const LINE_BYTES: usize = 256;

/// Makes a failed allocation end the program with a message; must precede all threads.
pub fn report_missing_memory(json: bool) {
    std::hint::black_box([0u8; STACK]);
    share_few_addresses();
    let rank = launcher().map_or(0, |launcher| launcher.rank);
    JSON.store(json && rank == 0, Ordering::Relaxed);
    RANK.store(rank, Ordering::Relaxed);
    // Allocates the buffer of standard output.
    let _ = std::io::stdout();
    report_with(|bytes| {
        let rank = RANK.load(Ordering::Relaxed);
        write_line(std::io::stderr(), format_args!("error: rank {rank}: cannot allocate {bytes} bytes\n"));
        if JSON.load(Ordering::Relaxed) {
            let message = format_args!("rank {rank}: cannot allocate {bytes} bytes");
            let error = format_args!("{{\"error\":{{\"kind\":\"memory\",\"message\":\"{message}\"}},\"schema\":1}}\n");
            write_line(std::io::stdout(), error);
        }
        try_remove_temporaries();
        end_at_once(1)
    });
}

/// Writes a line without allocating or locking, because other threads may hold locks forever.
fn write_line(stream: impl AsFd, line: Arguments<'_>) {
    let mut text = [0; LINE_BYTES];
    let mut left = &mut text[..];
    let _ = left.write_fmt(line);
    let written = LINE_BYTES - left.len();
    let mut rest = &text[..written];
    while !rest.is_empty() {
        match rustix::io::write(&stream, rest) {
            Ok(bytes) if bytes > 0 => rest = &rest[bytes..],
            Err(rustix::io::Errno::INTR) => {}
            // The stream is closed.
            _ => return,
        }
    }
}

/// Reports a panic's place on one line, unless `RUST_BACKTRACE=full`.
pub fn install() {
    if std::env::var("RUST_BACKTRACE").is_ok_and(|value| value == "full") {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let rank = launcher().map(|launcher| format!("rank {}, ", launcher.rank)).unwrap_or_default();
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic_message(panic.payload());
        let name = thread.name().map_or_else(|| "a rank's communication".to_owned(), str::to_owned);
        say!("einsum-dist: {rank}{name} thread {message} ({place})");
    }));
}

/// Calls `body`, and ends all ranks if it panics.
pub fn contained<T>(world: &World, body: impl FnOnce() -> T) -> T {
    // Nothing that `body` modified is used after a panic.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| world.abort(&panic_message(panic.as_ref())))
}
