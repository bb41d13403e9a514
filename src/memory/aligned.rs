//! Owned memory, aligned to cache lines and zeroed.
//!
//! Zeroed pages come from the system untouched, so the first write decides their place (first touch). Failure to
//! allocate is an error with a size, never an abort.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

use super::Footprint;

/// An allocation that the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes")]
pub struct OutOfMemory {
    pub bytes: usize,
}

/// Alignment of every owned buffer: one cache line, and the widest vector.
const ALIGNMENT: usize = 64;

/// Zeroed bytes at a 64-byte boundary.
#[derive(Debug)]
pub struct Aligned {
    start: NonNull<u8>,
    bytes: usize,
    footprint: Arc<Footprint>,
}

// SAFETY: an `Aligned` owns its bytes alone, as a `Box<[u8]>` does; moving it between threads moves the ownership.
unsafe impl Send for Aligned {}
// SAFETY: a shared `Aligned` gives out `&[u8]` and its address only; writing through the address is the business of the
// store, which has its own argument.
unsafe impl Sync for Aligned {}

impl Aligned {
    /// Allocates `bytes` zeroed bytes and counts them in `footprint`.
    ///
    /// # Errors
    /// [`OutOfMemory`] when the system refuses or the size overflows.
    pub fn zeroed(bytes: usize, footprint: &Arc<Footprint>) -> Result<Aligned, OutOfMemory> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).map_err(|_| OutOfMemory { bytes })?;
        // SAFETY: the layout has a size of at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(OutOfMemory { bytes })?;
        footprint.add(bytes);
        Ok(Aligned { start, bytes, footprint: footprint.clone() })
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` points at `bytes` initialised bytes that live as long as `self`, and nobody writes while the
        // shared borrow lasts (writers need `&mut self`, or a store that has taken `self` over).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        self.footprint.remove(self.bytes);
        // SAFETY: the same layout as in `zeroed`, which accepted it.
        unsafe {
            dealloc(self.start.as_ptr(), Layout::from_size_align_unchecked(self.bytes.max(1), ALIGNMENT));
        }
    }
}
