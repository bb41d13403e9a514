//! What all fuzz targets share: a limit on memory that follows the length of the input, and the reading of texts.
//!
//! A target is a file of `targets/` that calls [`check`] on every input. Panics end the process, as do broken
//! properties, so libFuzzer keeps the input. Deliberately absent: sanitizers, which need a nightly compiler; `make
//! test-asan` has them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::cell::Cell;

/// Bytes that any input may allocate, whatever its length.
pub const FREE_BYTES: usize = 64 << 10;

/// Bytes that each byte of the input may allocate on top.
pub const PER_BYTE: usize = 1000;

/// The system's allocator, which counts the bytes of this thread that are in use and ends the process above the limit.
struct Limited;

thread_local! {
    /// Bytes in use; below 0 where another thread allocated what this one frees.
    static BYTES_IN_USE: Cell<isize> = const { Cell::new(0) };
    /// The most that may be in use.
    static LIMIT: Cell<isize> = const { Cell::new(isize::MAX) };
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

fn grow(by: isize) {
    let used = BYTES_IN_USE.get().saturating_add(by);
    BYTES_IN_USE.set(used);
    // The message of a panic has a backtrace, which takes memory of its own.
    if used > LIMIT.get() && !std::thread::panicking() {
        let limit = LIMIT.replace(isize::MAX);
        eprintln!("an allocation of {by} bytes makes {used}, above the limit of {limit} for this input");
        std::process::abort();
    }
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: every call goes to the system's allocator as it came; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(signed(layout.size()));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        grow(-signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(signed(size) - signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Calls `body` on the input, which may have [`FREE_BYTES`] bytes in use and [`PER_BYTE`] more for each of its own.
pub fn check(input: &[u8], body: impl FnOnce()) {
    check_beyond(input, 0, body);
}

/// As [`check`], with so many bytes more: for values that are as large as a number in the input says, up to a limit.
pub fn check_beyond(input: &[u8], more: usize, body: impl FnOnce()) {
    let allowed = signed(FREE_BYTES.saturating_add(PER_BYTE.saturating_mul(input.len())).saturating_add(more));
    LIMIT.set(BYTES_IN_USE.get().saturating_add(allowed));
    body();
    LIMIT.set(isize::MAX);
}

/// The input as a text; what is no UTF-8 becomes replacement characters, as in a lossy conversion of arguments.
pub fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// An error message as users read it: one line, not empty.
#[track_caller]
pub fn one_line(message: &str) {
    assert!(!message.trim().is_empty() && !message.contains('\n'), "no single line: {message:?}");
}
