//! An allocator whose memory begins with a cache line. The C library's begins 16 bytes behind one where it is large.

use std::alloc::{GlobalAlloc, Layout, System};

use einsum_dist::local_plan::CACHE_LINE;

struct Lines;

#[global_allocator]
static ALLOCATOR: Lines = Lines;

fn aligned(layout: Layout) -> Layout {
    layout.align_to(CACHE_LINE).unwrap_or(layout)
}

// SAFETY: every call goes to the system's allocator with one and the same stricter layout.
unsafe impl GlobalAlloc for Lines {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { System.alloc(aligned(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(aligned(layout)) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises, with the layout that it was allocated with.
        unsafe { System.dealloc(start, aligned(layout)) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises, with the layout that it was allocated with.
        unsafe { System.realloc(start, aligned(layout), size) }
    }
}
