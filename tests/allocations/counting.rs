//! Installs an allocator that counts the allocations of all threads of this program.
//!
//! A test that reads a counter must lock [`ALONE`] from its start to its end.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

/// Locked by each test, because the counters belong to the whole process.
pub static ALONE: Mutex<()> = Mutex::new(());

/// Number of allocations.
pub static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
/// Total number of bytes of all allocations.
pub static BYTES: AtomicUsize = AtomicUsize::new(0);
/// Number of bytes that are currently allocated.
pub static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Maximum of [`LIVE`] since a test reset it.
pub static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Identifier of the pool whose threads count towards [`OF_POOL`]. Pools are numbered, because threads of the previous
/// pool may still allocate while they terminate.
pub static POOL: AtomicUsize = AtomicUsize::new(0);
/// Number of allocations by the threads of [`POOL`].
pub static OF_POOL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Identifier of this thread's pool.
    pub static POOL_OF_THREAD: Cell<usize> = const { Cell::new(usize::MAX) };
}

struct Counting;

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes, Relaxed);
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
    if POOL_OF_THREAD.try_with(Cell::get) == Ok(POOL.load(SeqCst)) {
        OF_POOL.fetch_add(1, SeqCst);
    }
}

// SAFETY: every call is passed unchanged to the system's allocator, which fulfils the contract of `GlobalAlloc`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Count the new block before the old one is freed, because both exist while the contents are copied.
        count(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(start, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
