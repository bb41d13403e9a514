//! Shared code of all fuzz targets: a memory limit that depends on the length of the input, and conversion to text.
//!
//! A target is a file of `targets/` that calls [`check`] on every input. A panic or a violated property ends the
//! process, so that libFuzzer stores the input. Deliberately absent: sanitizers, which need a nightly compiler; `make
//! test-asan` uses them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::cell::Cell;

/// Bytes that any input may allocate, independent of its length.
pub const FREE_BYTES: usize = 64 << 10;

/// Additional bytes that each byte of the input may allocate.
pub const PER_BYTE: usize = 1000;

/// The system's allocator, which counts the bytes of this thread that are in use and ends the process above the limit.
struct Limited;

thread_local! {
    /// Bytes in use; negative if this thread frees memory that another thread allocated.
    static BYTES_IN_USE: Cell<isize> = const { Cell::new(0) };
    /// Maximum bytes that may be in use.
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

// SAFETY: every call is passed unchanged to the system's allocator; counting accesses no memory of the caller.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(signed(layout.size()));
        // SAFETY: the caller's contract is that of the system's allocator.
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

/// Calls `body`, which may have [`FREE_BYTES`] bytes in use, and [`PER_BYTE`] more for each byte of the input.
pub fn check(input: &[u8], body: impl FnOnce()) {
    check_beyond(input, 0, body);
}

/// As [`check`], with `more` additional bytes: for values whose size is a number in the input, up to a limit.
pub fn check_beyond(input: &[u8], more: usize, body: impl FnOnce()) {
    let allowed = signed(FREE_BYTES.saturating_add(PER_BYTE.saturating_mul(input.len())).saturating_add(more));
    LIMIT.set(BYTES_IN_USE.get().saturating_add(allowed));
    body();
    LIMIT.set(isize::MAX);
}

/// The input as text. Invalid UTF-8 becomes replacement characters, as in a lossy conversion of arguments.
pub fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// An error message as users read it: one line, not empty.
#[track_caller]
pub fn one_line(message: &str) {
    assert!(!message.trim().is_empty() && !message.contains('\n'), "no single line: {message:?}");
}
