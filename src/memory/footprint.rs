//! Counts the bytes in a rank's buffers, and records the maximum of this number.
//!
//! Every buffer that a compiled program or a communication endpoint owns is counted here, so the measured peak is
//! exact. Blocks of the user's tensors are not counted here; the module `api` adds their size to the reported peak.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of live bytes of one rank, and the peak of that number. All allocations of the rank share this counter.
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

    /// Returns the maximum number of live bytes so far.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }
}
