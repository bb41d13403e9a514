//! An allocator for programs that should end with a message when memory runs out, not with a signal.
//!
//! ```text
//! fallible(|| alloc(..))    refused: null, which the caller turns into an error
//! alloc(..) elsewhere       refused: the program's report, which states the missing bytes and ends the program
//! ```
//!
//! Rust's containers abort the process (SIGABRT) if they cannot grow. Memory whose size depends on input is allocated
//! inside [`fallible`]. All other allocations are small, and a program without memory for them cannot continue.
//!
//! Invariant: the allocator allocates as the system's does; without a report it changes nothing. Deliberately absent:
//! memory of C libraries.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Called when memory runs out, with the number of bytes requested, by one thread of a process. If the report has to
/// allocate and cannot, the process ends there.
type Report = fn(usize) -> !;

static REPORT: OnceLock<Report> = OnceLock::new();

/// The reporting thread, as identified by [`this_thread`]; 0 if there is none.
static REPORTING: AtomicUsize = AtomicUsize::new(0);

/// The exit code if the report itself cannot allocate.
const NO_REPORT: i32 = 1;

thread_local! {
    /// Whether the current code handles a refused allocation.
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, for use as the `#[global_allocator]` of a program that has called [`report_with`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportingAllocator;

/// Sets the function that is called when memory runs out. Only the first call has an effect.
pub fn report_with(report: Report) {
    // An error means that an earlier call has set it.
    let _ = REPORT.set(report);
}

/// If the address space is limited (`ulimit -v`), makes all threads allocate small blocks from one arena. By default
/// each thread reserves addresses for an arena of its own, 64 MiB or more, which leaves none for the stacks of other
/// threads: some of these end the process with a signal. Must be called before threads start.
pub fn share_few_addresses() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use rustix::process::{Resource, getrlimit};
        if getrlimit(Resource::As).current.is_some() {
            // SAFETY: sets a number that the allocator reads when it creates an arena for a thread.
            let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        }
    }
}

/// Calls `ask`. An allocation that is refused inside it returns null, without a report.
pub fn fallible<V>(ask: impl FnOnce() -> V) -> V {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            FALLIBLE.set(self.0);
        }
    }
    let _before = Before(FALLIBLE.replace(true));
    ask()
}

/// Passes on the system's allocation; reports if the system refused it to code that cannot handle a refusal.
fn given(start: *mut u8, bytes: usize) -> *mut u8 {
    if start.is_null()
        && FALLIBLE.try_with(|fallible| !fallible.get()).unwrap_or(true)
        && let Some(report) = REPORT.get()
    {
        refused(bytes, *report);
    }
    start
}

/// Lets the first thread report. The others wait until its report ends the process.
fn refused(bytes: usize, report: Report) -> ! {
    match REPORTING.compare_exchange(0, this_thread(), Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => report(bytes),
        Err(first) if first == this_thread() => end_at_once(NO_REPORT),
        Err(_) => loop {
            // Parking would allocate in a thread that Rust has not started.
            std::thread::sleep(Duration::from_secs(1));
        },
    }
}

/// A number that is unique among living threads, found without allocating.
fn this_thread() -> usize {
    FALLIBLE.try_with(|fallible| std::ptr::from_ref(fallible).addr()).unwrap_or(usize::MAX)
}

/// Ends the process immediately: without the exit handlers of libraries and of the program, which may need memory.
pub fn end_at_once(code: i32) -> ! {
    // SAFETY: it accesses no memory of this process and does not return.
    unsafe { libc::_exit(code) }
}

// SAFETY: every call is forwarded unchanged to the system's allocator, and its result is returned.
unsafe impl GlobalAlloc for ReportingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { System.realloc(start, layout, size) }, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_taken_inside_only() {
        assert!(!FALLIBLE.get());
        let had = fallible(|| {
            assert!(FALLIBLE.get());
            fallible(|| assert!(FALLIBLE.get()));
            FALLIBLE.get()
        });
        assert!(had && !FALLIBLE.get());
        let panicked = std::panic::catch_unwind(|| fallible(|| panic!("for a test")));
        assert!(panicked.is_err() && !FALLIBLE.get());
    }
}
