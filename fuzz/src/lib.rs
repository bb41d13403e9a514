//! Contains the code that all fuzz targets share. Limits the memory that a target may use for an input of a given
//! length, and converts inputs to text.
//!
//! A target is a file in `targets/` that calls [`check`] on every input. A panic or a violated property ends the
//! process, so that libFuzzer stores the input. Fuzzing uses no sanitizers, because they need a nightly compiler. `make
//! test-asan` uses them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::cell::Cell;

/// Number of bytes that a target may have in use for an empty input.
pub const FREE_BYTES: usize = 64 << 10;

/// Number of bytes that a target may additionally have in use for each byte of the input.
pub const PER_BYTE: usize = 1000;

/// The system's allocator, with a count of the bytes that this thread has in use. Ends the process if the count exceeds
/// the limit.
struct Limited;

thread_local! {
    /// Number of bytes in use. It is negative if this thread frees memory that another thread allocated.
    static BYTES_IN_USE: Cell<isize> = const { Cell::new(0) };
    /// Maximum number of bytes that may be in use.
    static LIMIT: Cell<isize> = const { Cell::new(isize::MAX) };
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

fn grow(by: isize) {
    let used = BYTES_IN_USE.get().saturating_add(by);
    BYTES_IN_USE.set(used);
    // A panic may exceed the limit, because the backtrace in its message needs memory.
    if used > LIMIT.get() && !std::thread::panicking() {
        let limit = LIMIT.replace(isize::MAX);
        eprintln!("an allocation of {by} bytes makes {used}, above the limit of {limit} for this input");
        std::process::abort();
    }
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: every call is passed unchanged to the system's allocator, and counting does not access the caller's memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(signed(layout.size()));
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(signed(layout.size()));
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        grow(-signed(layout.size()));
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(signed(size) - signed(layout.size()));
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Calls `body`, which may have [`FREE_BYTES`] bytes in use, plus [`PER_BYTE`] bytes for each byte of the input.
pub fn check(input: &[u8], body: impl FnOnce()) {
    check_beyond(input, 0, body);
}

/// Calls `body` as [`check`] does, and allows it `more` additional bytes. The additional bytes are for values whose
/// size is a number in the input and does not depend on the input's length. The target limits this number.
pub fn check_beyond(input: &[u8], more: usize, body: impl FnOnce()) {
    let allowed = signed(FREE_BYTES.saturating_add(PER_BYTE.saturating_mul(input.len())).saturating_add(more));
    LIMIT.set(BYTES_IN_USE.get().saturating_add(allowed));
    body();
    LIMIT.set(isize::MAX);
}

/// Converts the input to text. Invalid UTF-8 becomes replacement characters, as in a lossy conversion of arguments.
pub fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// Asserts that an error message is exactly one line of text.
#[track_caller]
pub fn one_line(message: &str) {
    assert!(!message.trim().is_empty() && !message.contains('\n'), "no single line: {message:?}");
}
