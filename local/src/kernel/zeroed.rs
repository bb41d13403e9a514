//! Allocates zeroed memory without touching it, because the first write to a page decides its NUMA node.
//!
//! [`Zeroed::new`] requests only the common alignment and extra bytes, and moves the start up: for more, Rust's
//! allocator would clear the memory itself, and so touch every page on one thread.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::huge_pages::{HUGE_PAGE, request_huge_pages};
use super::reporting_allocator::fallible;

/// The alignment that the system's allocator guarantees.
const COMMON: usize = 16;

/// Memory of at least this size consists of huge pages, and takes at most twice the size requested.
const MIN_HUGE: usize = HUGE_PAGE / 2;

/// Zeroed bytes, freed when dropped.
#[derive(Debug)]
pub struct Zeroed {
    base: NonNull<u8>,
    layout: Layout,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the bytes are owned, as in a Box<[u8]>.
unsafe impl Send for Zeroed {}
// SAFETY: as above; `&self` provides only the address and the size.
unsafe impl Sync for Zeroed {}

impl Zeroed {
    /// Allocates `bytes` zeroed bytes at a multiple of `align`, a power of 2; `None` if the system refuses.
    pub fn new(bytes: usize, align: usize) -> Option<Zeroed> {
        let (room, align) = match bytes {
            MIN_HUGE.. => (bytes.checked_next_multiple_of(HUGE_PAGE)?, align.max(HUGE_PAGE)),
            _ => (bytes, align),
        };
        let layout = Layout::from_size_align(room.checked_add(align)?, COMMON).ok()?;
        // SAFETY: the layout's size is at least `align`, so not 0.
        let base = NonNull::new(fallible(|| unsafe { alloc_zeroed(layout) }))?;
        let up = base.as_ptr().align_offset(align);
        // SAFETY: `up` is less than `align`, by which the allocation exceeds `room`.
        let start = unsafe { base.add(up) };
        // SAFETY: no other code has a pointer to these bytes yet.
        request_huge_pages(unsafe { std::slice::from_raw_parts_mut(start.as_ptr().cast::<MaybeUninit<u8>>(), room) });
        Some(Zeroed { base, layout, start, bytes })
    }

    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        // SAFETY: `alloc_zeroed` returned `base` for this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests;
