//! Installs an allocator that aligns allocations to cache lines. Without this allocator, large allocations from the C
//! library would start 16 bytes after the start of a cache line.

use std::alloc::{GlobalAlloc, Layout, System};

use einsum_dist::local_plan::CACHE_LINE;

struct Lines;

#[global_allocator]
static ALLOCATOR: Lines = Lines;

fn aligned(layout: Layout) -> Layout {
    layout.align_to(CACHE_LINE).unwrap_or(layout)
}

// SAFETY: every call is passed to the system's allocator, with the layout that `aligned` returns. This layout has the
// caller's size and at least the caller's alignment. It depends only on the caller's layout, so a block is freed with
// the layout with which it was allocated.
unsafe impl GlobalAlloc for Lines {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(aligned(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(aligned(layout)) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`; `aligned` yields the layout of the allocation.
        unsafe { System.dealloc(start, aligned(layout)) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `realloc`; `aligned` yields the layout of the allocation.
        unsafe { System.realloc(start, aligned(layout), size) }
    }
}
