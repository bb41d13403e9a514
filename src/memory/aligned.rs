//! Zeroed memory, aligned to cache lines. The first write to a page decides its NUMA domain. Other ranks on the host
//! can read large buffers ([`Segment`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::segment::Segment;
use crate::kernel::Zeroed;

/// The error for an allocation that the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes")]
pub struct OutOfMemory {
    /// The size of the allocation in bytes.
    pub bytes: usize,
}

/// In bytes: a cache line and the widest vector register.
const ALIGNMENT: usize = 64;

/// Bytes, initially zero, aligned to 64 bytes.
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
    /// Counts the bytes in `footprint`.
    ///
    /// # Errors
    /// If the system refuses the allocation, or the size overflows.
    pub fn zeroed(bytes: usize, footprint: &Arc<Footprint>) -> Result<Aligned, OutOfMemory> {
        match Segment::new(bytes) {
            Some(segment) => Ok(Self::of(Memory::Readable(segment), footprint)),
            None => Self::private(bytes, footprint),
        }
    }

    /// Like [`Aligned::zeroed`], but other processes cannot read the memory.
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
        // SAFETY: the start points to `len` initialised bytes that live as long as `self`. Nothing writes them during
        // the borrow, because a writer needs `&mut self`, or a store that owns `self`.
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

/// A rank's live bytes and their peak, for all buffers of programs and endpoints; `api` adds the user's blocks.
#[derive(Debug, Default)]
pub struct Footprint {
    live: AtomicUsize,
    peak: AtomicUsize,
}

impl Footprint {
    pub fn add(&self, bytes: usize) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
    }

    pub fn remove(&self, bytes: usize) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }
}
