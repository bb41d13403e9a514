//! Keeps buffers for packing boxes that are not dense.
//!
//! Invariant: there are never more buffers than transfers at the same time, so repeated runs allocate none.

use std::sync::Arc;

use crate::memory::{Aligned, Footprint, OutOfMemory};

#[derive(Debug)]
pub(super) struct Pool {
    idle: Vec<Aligned>,
    footprint: Arc<Footprint>,
    live: usize,
    peak: usize,
}

impl Pool {
    pub(super) fn new(footprint: Arc<Footprint>) -> Pool {
        Pool { idle: Vec::new(), footprint, live: 0, peak: 0 }
    }

    pub(super) fn peak(&self) -> usize {
        self.peak
    }

    /// The smallest sufficient idle buffer, with any content, or a new one.
    pub(super) fn take(&mut self, bytes: usize) -> Result<Aligned, OutOfMemory> {
        let by_size = |&at: &usize| self.idle[at].len();
        if let Some(at) = (0..self.idle.len()).filter(|&at| self.idle[at].len() >= bytes).min_by_key(by_size) {
            return Ok(self.idle.swap_remove(at));
        }
        // Replaces the largest.
        if let Some(at) = (0..self.idle.len()).max_by_key(by_size) {
            self.live -= self.idle.swap_remove(at).len();
        }
        let buffer = Aligned::private(bytes, &self.footprint)?;
        self.live += bytes;
        self.peak = self.peak.max(self.live);
        Ok(buffer)
    }

    pub(super) fn give_back(&mut self, buffer: Aligned) {
        self.idle.push(buffer);
    }
}

#[cfg(test)]
mod tests;
