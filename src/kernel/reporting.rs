//! An allocator for programs that end with a message where memory runs out, not with a signal.
//!
//! ```text
//! fallible(|| alloc(..))    refused: null, and whoever asked makes an error of it
//! alloc(..) elsewhere       refused: the report of the program, which says how many bytes are missing and ends it
//! ```
//!
//! Rust's containers end the process (SIGABRT) where they cannot grow. Whatever has a size that input decides is asked for inside
//! [`fallible`]; the rest is small, and a program that has no memory for it has none to go on.
//!
//! Invariant: allocates as the system does; without a report it changes nothing. Deliberately absent: memory of C libraries.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Called where memory runs out, with the bytes that were asked for, by one thread of a process. Where it has to allocate
/// and there is nothing, the process ends at that place.
type Report = fn(usize) -> !;

static REPORT: OnceLock<Report> = OnceLock::new();

/// The thread that reports, as [`this_thread`] names it; 0 while none does.
static REPORTING: AtomicUsize = AtomicUsize::new(0);

/// The exit code where the report itself finds no memory.
const NO_REPORT: i32 = 1;

thread_local! {
    /// Whether whoever asks for memory takes a refusal.
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, as `#[global_allocator]` of a program that has called [`report_with`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportingAllocator;

/// Says what is called where memory runs out; the first call counts.
pub fn report_with(report: Report) {
    // Whoever came first has said it.
    let _ = REPORT.set(report);
}

/// Where addresses are limited (`ulimit -v`), has all threads take small memory from one place. Elsewhere each of them sets addresses
/// aside for itself, 64 MiB and more, which leaves none for the stacks of others: some of these end the process by a signal.
/// Before there are threads.
pub fn share_few_addresses() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use rustix::process::{Resource, getrlimit};
        if getrlimit(Resource::As).current.is_some() {
            // SAFETY: a number that the allocator looks at when it makes a place for a thread.
            let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        }
    }
}

/// Calls `ask`, in which memory may be refused.
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

/// What the system has given, unless it has refused somebody who cannot take that.
fn given(start: *mut u8, bytes: usize) -> *mut u8 {
    if start.is_null()
        && FALLIBLE.try_with(|fallible| !fallible.get()).unwrap_or(true)
        && let Some(report) = REPORT.get()
    {
        refused(bytes, *report);
    }
    start
}

/// Has the first thread that comes report. The others wait for the end, which its report brings.
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

/// A number that no other living thread has, found without memory.
fn this_thread() -> usize {
    FALLIBLE.try_with(|fallible| std::ptr::from_ref(fallible).addr()).unwrap_or(usize::MAX)
}

/// Ends the process as it is: without what libraries and the program want to be called at its end, which may need memory.
pub fn end_at_once(code: i32) -> ! {
    // SAFETY: it touches nothing of this process and does not return.
    unsafe { libc::_exit(code) }
}

// SAFETY: every call goes to the system's allocator as it came, and its answer back.
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
