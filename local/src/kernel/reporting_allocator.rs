//! An allocator for programs that should end with a message when memory runs out.
//!
//! Rust's containers abort if they cannot grow, so memory whose size depends on the input is allocated inside
//! [`fallible`], and fails with an error. For other allocations, the report ends the program.
//!
//! C libraries do not use this allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Called with the requested bytes, on one thread only. If it runs out of memory itself, the process ends without a
/// report.
type Report = fn(usize) -> !;

static REPORT: OnceLock<Report> = OnceLock::new();

/// The reporting thread ([`this_thread`]); 0 if none.
static REPORTING: AtomicUsize = AtomicUsize::new(0);

/// The exit code if the report itself runs out of memory.
const NO_REPORT: i32 = 1;

thread_local! {
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// An allocator that forwards to the system's, for the `#[global_allocator]` of a program that calls [`report_with`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReportingAllocator;

/// Sets what is called when memory runs out. Only the first call has an effect.
pub fn report_with(report: Report) {
    let _ = REPORT.set(report);
}

/// If the address space is limited (`ulimit -v`), makes all threads allocate small blocks from one arena; each would
/// reserve at least 64 MiB, which may leave none for stacks. Must be called before threads start.
pub fn share_few_addresses() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the call writes only `limit`.
        let _ = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
        if limit.rlim_cur != libc::RLIM_INFINITY {
            // SAFETY: the call sets a number that the allocator reads when it creates an arena.
            let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        }
    }
}

/// Calls `ask`; a refused allocation during this call returns null, without a report.
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

fn given(start: *mut u8, bytes: usize) -> *mut u8 {
    if start.is_null()
        && FALLIBLE.try_with(|fallible| !fallible.get()).unwrap_or(true)
        && let Some(report) = REPORT.get()
    {
        refused(bytes, *report);
    }
    start
}

/// The first thread reports; others wait for the end.
fn refused(bytes: usize, report: Report) -> ! {
    match REPORTING.compare_exchange(0, this_thread(), Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => report(bytes),
        Err(first) if first == this_thread() => end_at_once(NO_REPORT),
        Err(_) => loop {
            // Parking allocates memory in threads that Rust did not start.
            std::thread::sleep(Duration::from_secs(1));
        },
    }
}

/// Returns a number that is unique among running threads, without allocating.
fn this_thread() -> usize {
    FALLIBLE.try_with(|fallible| std::ptr::from_ref(fallible).addr()).unwrap_or(usize::MAX)
}

/// Ends the process immediately, without exit handlers, which may need memory.
pub fn end_at_once(code: i32) -> ! {
    // SAFETY: the call accesses no memory of this process and does not return.
    unsafe { libc::_exit(code) }
}

// SAFETY: every call is forwarded unchanged to the system's allocator, and its result is returned.
unsafe impl GlobalAlloc for ReportingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        given(unsafe { System.realloc(start, layout, size) }, size)
    }
}

#[cfg(test)]
mod tests;
