//! Panics: one line each, and never a rank that leaves the others waiting.
//!
//! Panics of a run are the library's: it reports the task and ends all ranks. What is here is for the rest, where a panic
//! is a bug of this program.

use std::panic::{AssertUnwindSafe, catch_unwind};

use einsum_dist::World;
use einsum_dist::comm::launcher::launcher;
use einsum_dist::exec::panic_message;

/// Says in one line where a thread panicked. `RUST_BACKTRACE=full` brings the long message back.
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
        eprintln!("einsum-dist: {rank}{name} thread {message} ({place})");
    }));
}

/// Calls `body`; a panic ends all ranks.
pub fn contained<T>(world: &World, body: impl FnOnce() -> T) -> T {
    // Nothing of what the body touched is used after a panic.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| world.abort(&panic_message(panic.as_ref())))
}
