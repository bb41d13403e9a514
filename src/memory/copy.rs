//! Copies between distinct memory, through the caches or past them.
//!
//! ```text
//! cached      core 0 stores a line --> its cache --> fetched by core 1, line by line      fast if both share a cache
//! streaming   core 0 stores a line ---> memory ----> prefetched by core 1                 the same in both cases
//! ```
//!
//! Where two cores share no cache, lines that one has written and the other fetches were measured at 2.5 GB/s, streamed
//! ones at 15 to 22; where they share one, 16 and 13 (Zen 4, pieces of 256 KiB).
//!
//! Invariant: when the copy returns, streaming stores are ordered before every later store of the thread, so a flag
//! that is stored with release afterwards publishes them. Deliberately absent: copies in any other order of elements
//! (`strided`), and streaming stores on other systems than x86-64, where both kinds are the same: not measured there.

/// The kind of stores that a copy uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// Into the caches: the writer, or a core that shares its cache, reads the bytes soon.
    Cached,
    /// Past the caches, if a run has enough bytes: another core reads them, or no core does before the cache is full of
    /// other bytes.
    Streaming,
}

impl StoreKind {
    /// Copies `bytes` bytes.
    ///
    /// # Safety
    /// `from` can be read and `into` written for `bytes` bytes; nothing else writes `from` or accesses `into` during
    /// the call; they do not overlap.
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

/// In shorter runs, too many cache lines are partial.
const MIN_STREAMED_BYTES: usize = 1 << 10;

/// # Safety
/// As [`StoreKind::copy`].
#[cfg(target_arch = "x86_64")]
unsafe fn stream(from: *const u8, into: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    const VECTORS_PER_LINE: usize = LINE / size_of::<__m128i>();
    let head = into.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    // SAFETY: head, whole lines and the rest add up to `bytes`; lines of `into` are aligned; SSE2 belongs to x86-64;
    // the fence orders these stores, like any others, before later stores that announce them.
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
/// As [`StoreKind::copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(from: *const u8, into: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe { std::ptr::copy_nonoverlapping(from, into, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive_and_no_others_change() {
        let from: Vec<u8> = (0..5000).map(|at| (at * 7 % 251) as u8).collect();
        for store_kind in [StoreKind::Cached, StoreKind::Streaming] {
            for bytes in [0, 1, 63, 64, 1023, 1024, 1025, 1087, 1151, 4096, 4800] {
                for (source, target) in [(0, 0), (1, 0), (0, 1), (63, 17), (16, 100), (64, 63)] {
                    let mut into = vec![255; 5000];
                    // SAFETY: both vectors have 100 + 4800 bytes or more and do not overlap.
                    unsafe { store_kind.copy(from[source..].as_ptr(), into[target..].as_mut_ptr(), bytes) };
                    let expected =
                        [&vec![255; target], &from[source..source + bytes], &vec![255; 5000 - target - bytes]];
                    assert!(into == expected.concat(), "{store_kind:?} {bytes} {source} {target}");
                }
            }
        }
    }
}
