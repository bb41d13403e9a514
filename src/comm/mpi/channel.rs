//! A queue of slots (buffers of equal size) in shared memory, from one rank of a node to another.
//!
//! A rank's channels to its node are in its own segment: first the counts of all, then the slots. Only counts are
//! initialised, to 0.
//!
//! Invariants: only the sender fills slots and advances `filled`, and only the receiver empties them and advances
//! `emptied`; filled slots belong to the receiver, others to the sender. Counts are stored with release ordering, and
//! loaded with acquire ordering before the first access to a slot. A slot has bytes, or describes boxes that the
//! receiver copies directly, counting in `copied`.

use std::ptr::NonNull;

use crate::memory::prefetch;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Bytes between counts: two cache lines, because processors fetch lines in pairs.
const COUNT_STRIDE: usize = 128;
const COUNTS: usize = 3 * COUNT_STRIDE;
const HEADER_BYTES: usize = 64;
const SLOTS: usize = 8;
/// Of the next slot: its header, and a box of up to three dimensions.
const PREFETCHED_LINES: usize = 3;
const LINE: usize = 64;
const MAX_SLOT_BYTES: usize = 256 << 10;
const MIN_SLOT_BYTES: usize = 4 << 10;
/// Unless smaller than `MIN_PIECE_BYTES`.
const PIECES: usize = 16;
const MIN_PIECE_BYTES: usize = 32 << 10;
/// Limit on a node's bytes in channels; slots of minimum size may exceed it.
const MAX_NODE_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    ranks: usize,
    slot: usize,
}

impl Layout {
    pub(super) fn of(ranks: usize) -> Layout {
        let pairs = ranks * ranks;
        let slot = (MAX_NODE_BYTES / (pairs * SLOTS)).clamp(MIN_SLOT_BYTES, MAX_SLOT_BYTES);
        Layout { ranks, slot: slot - slot % HEADER_BYTES }
    }

    pub(super) fn segment_bytes(self) -> usize {
        self.ranks * self.channel_bytes()
    }

    fn channel_bytes(self) -> usize {
        COUNTS + SLOTS * (HEADER_BYTES + self.slot)
    }
}

#[derive(Debug)]
struct Channel {
    counts: NonNull<u8>,
    slots: NonNull<u8>,
    slot: usize,
}

impl Channel {
    /// # Safety
    /// `segment` has [`Layout::segment_bytes`] bytes and outlives the channel; [`begin`] is called on it before the
    /// channel is used.
    unsafe fn new(layout: Layout, segment: NonNull<u8>, to: usize) -> Channel {
        const { assert!(COUNT_STRIDE.is_multiple_of(HEADER_BYTES) && HEADER_BYTES.is_multiple_of(align_of::<AtomicU64>())) };
        assert!(segment.cast::<AtomicU64>().is_aligned(), "pages are aligned, and segments are multiples of that");
        let slots = layout.ranks * COUNTS + to * SLOTS * (HEADER_BYTES + layout.slot);
        // SAFETY: counts and slots are inside the segment (the caller's contract).
        unsafe { Channel { counts: segment.add(to * COUNTS), slots: segment.add(slots), slot: layout.slot } }
    }

    fn filled(&self) -> &AtomicU64 {
        // SAFETY: `begin` has written a count there, `new` has checked its alignment, and both processes use atomics
        // only.
        unsafe { self.counts.cast().as_ref() }
    }

    fn emptied(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.counts.add(COUNT_STRIDE).cast().as_ref() }
    }

    fn copied(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.counts.add(2 * COUNT_STRIDE).cast().as_ref() }
    }

    /// The bytes in the payload and in the whole transfer, and whether the payload is a description.
    fn header(&self, number: u64) -> NonNull<[u64; 3]> {
        let at = (number as usize % SLOTS) * (HEADER_BYTES + self.slot);
        // SAFETY: the slot is inside the channel.
        unsafe { self.slots.add(at).cast() }
    }

    fn bytes(&self, number: u64) -> NonNull<u8> {
        // SAFETY: the payload of a slot follows its header.
        unsafe { self.header(number).cast::<u8>().add(HEADER_BYTES) }
    }
}

/// # Safety
/// `segment` has [`Layout::segment_bytes`] bytes, and its channels are not in use yet.
pub(super) unsafe fn begin(layout: Layout, segment: NonNull<u8>) {
    const { assert!(size_of::<AtomicU64>() <= COUNT_STRIDE) };
    for to in 0..layout.ranks {
        // SAFETY: the counts are inside the segment, `COUNT_STRIDE` bytes apart.
        unsafe {
            let counts = Channel::new(layout, segment, to).counts;
            (0..COUNTS / COUNT_STRIDE).for_each(|at| counts.add(at * COUNT_STRIDE).cast().write(AtomicU64::new(0)));
        }
    }
}

#[derive(Debug)]
pub(super) struct Producer {
    channel: Channel,
    filled: u64,
}

impl Producer {
    /// # Safety
    /// The same as for [`Channel::new`]. In addition, the channel has no other producer, and this process owns the
    /// segment.
    pub(super) unsafe fn new(layout: Layout, own: NonNull<u8>, to: usize) -> Producer {
        // SAFETY: the caller's contract.
        Producer { channel: unsafe { Channel::new(layout, own, to) }, filled: 0 }
    }

    pub(super) fn has_room(&self) -> bool {
        self.filled - self.channel.emptied().load(Ordering::Acquire) < SLOTS as u64
    }

    pub(super) fn slot_bytes(&self) -> usize {
        self.channel.slot
    }

    pub(super) fn is_emptied(&self, number: u64) -> bool {
        self.channel.emptied().load(Ordering::Acquire) > number
    }

    /// How often the receiver has copied a part of described boxes.
    pub(super) fn copied(&self) -> u64 {
        self.channel.copied().load(Ordering::Relaxed)
    }

    /// Fills a slot with the next bytes of a transfer, of which `left` of `total` remain; returns its number, or `None`
    /// if all are full.
    pub(super) fn fill(&mut self, total: usize, left: usize, fill: impl FnOnce(&mut [u8])) -> Option<u64> {
        let bytes = left.min((total / PIECES).max(MIN_PIECE_BYTES));
        self.put([bytes, total, 0], fill)
    }

    /// Like [`Producer::fill`], with a description, which must fit.
    pub(super) fn fill_description(&mut self, total: usize, what: &[u8]) -> Option<u64> {
        self.put([what.len(), total, 1], |slot| slot.copy_from_slice(what))
    }

    fn put(&mut self, header: [usize; 3], fill: impl FnOnce(&mut [u8])) -> Option<u64> {
        if !self.has_room() {
            return None;
        }
        let bytes = header[0].min(self.channel.slot);
        // SAFETY: the slot is inside the channel. An acquire load in `has_room` has shown that the receiver has emptied
        // it, and it belongs to the sender until `filled` is advanced.
        unsafe {
            self.channel.header(self.filled).write(header.map(|number| number as u64));
            fill(std::slice::from_raw_parts_mut(self.channel.bytes(self.filled).as_ptr(), bytes));
        }
        self.filled += 1;
        self.channel.filled().store(self.filled, Ordering::Release);
        Some(self.filled - 1)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Filled<'a> {
    pub bytes: &'a [u8],
    pub total: usize,
    pub is_description: bool,
}

#[derive(Debug)]
pub(super) struct Consumer {
    channel: Channel,
    emptied: u64,
    copied: u64,
    /// The last `filled`: loading it takes the sender's cache line.
    seen: u64,
}

impl Consumer {
    /// # Safety
    /// The same as for [`Channel::new`], with the sender's segment. In addition, the channel has no other consumer, and
    /// this process is the receiving rank.
    pub(super) unsafe fn new(layout: Layout, theirs: NonNull<u8>, to: usize) -> Consumer {
        // SAFETY: the caller's contract.
        Consumer { channel: unsafe { Channel::new(layout, theirs, to) }, emptied: 0, copied: 0, seen: 0 }
    }

    pub(super) fn has_bytes(&self) -> bool {
        self.channel.filled().load(Ordering::Acquire) > self.emptied
    }

    /// Passes the next filled slot, if any, to `take`, which returns whether it may be reused.
    pub(super) fn empty<E>(&mut self, take: impl FnOnce(Filled) -> Result<bool, E>) -> Result<bool, E> {
        if self.seen <= self.emptied + 1 {
            self.seen = self.channel.filled().load(Ordering::Acquire);
        }
        if self.seen == self.emptied {
            return Ok(false);
        }
        if self.seen > self.emptied + 1 {
            let next = self.channel.header(self.emptied + 1).cast::<u8>().as_ptr();
            (0..PREFETCHED_LINES).for_each(|line| prefetch(next.wrapping_add(line * LINE)));
        }
        // SAFETY: the slot is inside the channel. An acquire load has shown that it is filled, and the sender does not
        // access it before `emptied` is advanced below. `put` wrote the header, so the slot has as many bytes as it
        // states.
        let filled = unsafe {
            let [bytes, total, is_description] = self.channel.header(self.emptied).read();
            let bytes = (bytes as usize).min(self.channel.slot);
            let bytes = std::slice::from_raw_parts(self.channel.bytes(self.emptied).as_ptr(), bytes);
            Filled { bytes, total: total as usize, is_description: is_description != 0 }
        };
        if take(filled)? {
            self.emptied += 1;
            self.channel.emptied().store(self.emptied, Ordering::Release);
        } else {
            self.copied += 1;
            self.channel.copied().store(self.copied, Ordering::Relaxed);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
