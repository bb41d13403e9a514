//! Owned memory, aligned to cache lines and zeroed.
//!
//! Zeroed pages come from the system untouched, so the first write decides their placement (first touch). Failure to
//! allocate is an error with a size, never an abort. If processes share a node, large memory is allocated so that the
//! others can read it ([`Segment`]).

use std::sync::Arc;

use super::Footprint;
use super::segment::Segment;
use crate::kernel::Zeroed;

/// An allocation that the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes")]
pub struct OutOfMemory {
    /// The size of the allocation.
    pub bytes: usize,
}

/// Alignment of every owned buffer: one cache line, and the widest vector.
const ALIGNMENT: usize = 64;

/// Zeroed bytes at a 64-byte boundary.
#[derive(Debug)]
pub struct Aligned {
    memory: Memory,
    footprint: Arc<Footprint>,
}

#[derive(Debug)]
enum Memory {
    Own(Zeroed),
    Readable(Segment),
}

impl Aligned {
    /// Allocates `bytes` zeroed bytes and counts them in `footprint`.
    ///
    /// # Errors
    /// [`OutOfMemory`] when the system refuses or the size overflows.
    pub fn zeroed(bytes: usize, footprint: &Arc<Footprint>) -> Result<Aligned, OutOfMemory> {
        match Segment::new(bytes) {
            Some(segment) => Ok(Self::of(Memory::Readable(segment), footprint)),
            None => Self::private(bytes, footprint),
        }
    }

    /// As [`Aligned::zeroed`], for memory that no other process reads.
    ///
    /// # Errors
    /// As [`Aligned::zeroed`].
    pub fn private(bytes: usize, footprint: &Arc<Footprint>) -> Result<Aligned, OutOfMemory> {
        let memory = Zeroed::new(bytes, ALIGNMENT).ok_or(OutOfMemory { bytes })?;
        Ok(Self::of(Memory::Own(memory), footprint))
    }

    fn of(memory: Memory, footprint: &Arc<Footprint>) -> Aligned {
        let memory = Aligned { memory, footprint: footprint.clone() };
        footprint.add(memory.len());
        memory
    }

    pub fn as_ptr(&self) -> *mut u8 {
        match &self.memory {
            Memory::Own(memory) => memory.start().as_ptr(),
            Memory::Readable(segment) => segment.start().as_ptr(),
        }
    }

    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Own(memory) => memory.bytes(),
            Memory::Readable(segment) => segment.bytes(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the start points at `len` initialised bytes that live as long as `self`, and nothing writes them
        // while the shared borrow lasts (writers need `&mut self`, or a store that has taken `self` over).
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len()) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), self.len()) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        self.footprint.remove(self.len());
    }
}
