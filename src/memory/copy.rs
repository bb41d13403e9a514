//! Copies between disjoint memory ranges, through the caches or with streaming stores, which are faster between cores
//! that share no cache (`docs/transports.md`).
//!
//! Guarantee: a copy's streaming stores precede every later store of the thread, so a flag stored with release ordering
//! publishes the bytes. Only x86-64 has streaming stores.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// Stores into the caches, for bytes that this core, or one with the same cache, soon reads.
    Cached,
    /// Stores that bypass the caches, except below 1 KiB, for bytes that other cores read, or that would be evicted
    /// before.
    Streaming,
}

impl StoreKind {
    /// # Safety
    /// `from` is valid for reads and `into` is valid for writes of `bytes` bytes. During the call, nothing else writes
    /// to `from` or accesses `into`. The two ranges do not overlap.
    #[inline]
    pub(super) unsafe fn copy(self, from: *const u8, into: *mut u8, bytes: usize) {
        match self {
            // SAFETY: the caller's contract.
            StoreKind::Streaming if bytes >= MIN_STREAMED_BYTES => unsafe { stream(from, into, bytes) },
            // SAFETY: as above.
            _ => unsafe { std::ptr::copy_nonoverlapping(from, into, bytes) },
        }
    }
}

/// Shorter ranges have too much in partial cache lines.
const MIN_STREAMED_BYTES: usize = 1 << 10;

/// # Safety
/// The same as for [`StoreKind::copy`].
#[cfg(target_arch = "x86_64")]
unsafe fn stream(from: *const u8, into: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    const VECTORS_PER_LINE: usize = LINE / size_of::<__m128i>();
    let head = into.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    // SAFETY: head, full lines and rest add up to `bytes`; the full lines of `into` are aligned; every x86-64 processor
    // has SSE2; the fence orders streaming stores before later ones that announce the data.
    unsafe {
        std::ptr::copy_nonoverlapping(from, into, head);
        let (mut source, mut target) = (from.add(head).cast::<__m128i>(), into.add(head).cast::<__m128i>());
        for _ in 0..lines {
            let line: [__m128i; VECTORS_PER_LINE] = std::array::from_fn(|at| _mm_loadu_si128(source.add(at)));
            line.into_iter().enumerate().for_each(|(at, part)| _mm_stream_si128(target.add(at), part));
            (source, target) = (source.add(VECTORS_PER_LINE), target.add(VECTORS_PER_LINE));
        }
        std::ptr::copy_nonoverlapping(source.cast(), target.cast::<u8>(), bytes - head - lines * LINE);
        _mm_sfence();
    }
}

/// # Safety
/// The same as for [`StoreKind::copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(from: *const u8, into: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe { std::ptr::copy_nonoverlapping(from, into, bytes) };
}

#[cfg(test)]
mod tests;
