//! Counts the bytes in a rank's buffers, and their maximum.
//!
//! Every buffer of a program or an endpoint counts, so the peak is exact; `api` adds the user's blocks.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A rank's live bytes and their peak.
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

    /// The maximum number of live bytes so far.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }
}
