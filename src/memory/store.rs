//! The buffers of one rank, and the ledger of boxes in use.
//!
//! Invariant: two live leases on one buffer, or on buffers that share memory, overlap only if both read. A lease costs
//! a lock and a comparison with each live lease; for complete buffers, it allocates nothing.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayViewD, ArrayViewMutD};

use super::aligned::Aligned;
use super::strided::Strided;
use crate::distribution::Bounds;
use crate::dtype::Dtype;
use crate::kernel::{Element, prefetch};
use crate::sync::{Mutex, lock};

/// A buffer, with the address of element `[0, 0, ..]`.
#[derive(Debug)]
pub struct Slot {
    pub(super) origin: *mut u8,
    pub(super) dtype: Dtype,
    pub(super) strided: Strided,
    pub(super) writable: bool,
    /// 0 for the user's memory.
    owned_bytes: usize,
    owner: Option<Arc<Aligned>>,
}

// SAFETY: a slot's memory is accessed only through leases, and the ledger refuses conflicting ones. `owner` keeps owned
// memory alive; the contract of `Slot::borrowed*` and `Store::close`, borrowed memory.
unsafe impl Send for Slot {}
// SAFETY: as above. Shared slots only pass addresses to leases.
unsafe impl Sync for Slot {}

impl Slot {
    /// A dense row-major buffer `offset` bytes into `memory`, where it must fit.
    pub fn owned(memory: Arc<Aligned>, offset: usize, dtype: Dtype, extents: &[usize]) -> Slot {
        let strided = Strided::row_major(extents);
        let bytes = strided.elements() * dtype.size();
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= memory.len());
        assert!(inside && offset.is_multiple_of(dtype.size()), "the memory holds the buffer");
        // SAFETY: the offset is inside the memory.
        let origin = unsafe { memory.as_ptr().add(offset) };
        Slot { origin, dtype, strided, writable: true, owned_bytes: bytes, owner: Some(memory) }
    }

    /// The addresses of an owned buffer, which may overlap other slots; empty for the user's.
    fn addresses(&self) -> Range<usize> {
        let start = self.origin as usize;
        start..start + self.owned_bytes
    }

    /// Borrows the user's operand, read-only. The slot's store must be closed before the borrow ends.
    pub fn borrowed<T: Element>(view: &ArrayViewD<'_, T>) -> Slot {
        Slot {
            origin: view.as_ptr().cast_mut().cast(),
            dtype: T::DTYPE,
            strided: Strided { extents: view.shape().into(), strides: view.strides().into() },
            writable: false,
            owned_bytes: 0,
            owner: None,
        }
    }

    /// Like [`Slot::borrowed_mut`], for boxes; `None` for a box that overlaps an earlier one.
    pub fn borrowed_parts<T: Element>(view: &mut ArrayViewMutD<'_, T>, parts: &[Bounds]) -> Vec<Option<Slot>> {
        let whole = Slot::borrowed_mut(view);
        let mut taken: Vec<&Bounds> = Vec::with_capacity(parts.len());
        let slots = parts.iter().map(|part| {
            let meets = |a: &Bounds| a.iter().zip(part).all(|(a, b)| a.start.max(b.start) < a.end.min(b.end));
            if taken.iter().any(|taken| meets(taken)) {
                return None;
            }
            taken.push(part);
            let (offset, strided) = whole.strided.slice(part);
            let empty = strided.elements() == 0;
            let bytes = offset * T::DTYPE.size() as isize;
            // An empty box, which is never accessed, may start outside the array.
            let origin = if empty { whole.origin } else { whole.origin.wrapping_offset(bytes) };
            Some(Slot { origin, dtype: T::DTYPE, strided, writable: true, owned_bytes: 0, owner: None })
        });
        slots.collect()
    }

    pub fn extents(&self) -> &[usize] {
        &self.strided.extents
    }

    /// Borrows one of the user's outputs. The slot's store must be closed before the borrow ends.
    pub fn borrowed_mut<T: Element>(view: &mut ArrayViewMutD<'_, T>) -> Slot {
        let strided = Strided { extents: view.shape().into(), strides: view.strides().into() };
        Slot { origin: view.as_mut_ptr().cast(), dtype: T::DTYPE, strided, writable: true, owned_bytes: 0, owner: None }
    }
}

/// Why a lease was refused: a wrong schedule or a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    #[error("there is no buffer {buffer}")]
    NoBuffer { buffer: usize },
    #[error("a region leaves buffer {buffer}")]
    Outside { buffer: usize },
    #[error("buffer {buffer} is an operand and read only")]
    ReadOnly { buffer: usize },
    #[error("a region of buffer {buffer} is still in use")]
    Conflict { buffer: usize },
}

/// A box; `offset` is in elements.
#[derive(Debug)]
pub(super) struct BoxLocation {
    pub buffer: usize,
    pub offset: isize,
    pub part: Option<Box<Strided>>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    buffer: usize,
    /// `None` if the box is the complete buffer.
    bounds: Option<Bounds>,
    write: bool,
}

#[derive(Debug, Default)]
struct Ledger {
    next: u64,
    live: Vec<Entry>,
}

#[derive(Debug)]
pub struct Store {
    slots: Vec<Option<Slot>>,
    ledger: Mutex<Ledger>,
}

impl Store {
    /// Creates a store in which slot i is buffer i, if any.
    pub fn open(slots: Vec<Option<Slot>>) -> Arc<Store> {
        Arc::new(Store { slots, ledger: Mutex::default() })
    }

    /// Closes the store and returns the slots that own their memory. Nothing accesses borrowed memory any more.
    ///
    /// Aborts the process if a lease is alive, which could access freed memory.
    pub fn close(self: Arc<Store>) -> Vec<Option<Slot>> {
        let Ok(Store { mut slots, .. }) = Arc::try_unwrap(self) else {
            let what = "einsum-dist: a buffer is still in use at the end of a run; this is a bug";
            let _ = writeln!(std::io::stderr(), "{what}");
            std::process::abort();
        };
        for slot in &mut slots {
            slot.take_if(|slot| slot.owner.is_none());
        }
        slots
    }

    /// Prefetches the first cache line before a lease.
    pub fn prefetch(&self, buffer: usize) {
        if let Some(slot) = self.slots.get(buffer).and_then(Option::as_ref) {
            prefetch(slot.origin.cast_const());
        }
    }

    pub(super) fn slot(&self, buffer: usize) -> &Slot {
        match &self.slots[buffer] {
            Some(slot) => slot,
            None => unreachable!("a lease is of a buffer that is there"),
        }
    }

    pub(super) fn release(&self, id: u64) {
        let mut ledger = lock(&self.ledger);
        if let Some(at) = ledger.live.iter().position(|e| e.id == id) {
            ledger.live.swap_remove(at);
        }
    }

    pub(super) fn locate(&self, buffer: usize, bounds: &[Range<usize>]) -> Result<BoxLocation, LeaseError> {
        let slot = self.slots.get(buffer).and_then(Option::as_ref).ok_or(LeaseError::NoBuffer { buffer })?;
        let extents = &slot.strided.extents;
        if bounds.len() == extents.len() && bounds.iter().zip(extents).all(|(b, &e)| b.start == 0 && b.end == e) {
            return Ok(BoxLocation { buffer, offset: 0, part: None });
        }
        let inside =
            bounds.len() == extents.len() && bounds.iter().zip(extents).all(|(b, &e)| b.start <= b.end && b.end <= e);
        if !inside {
            return Err(LeaseError::Outside { buffer });
        }
        let (offset, part) = slot.strided.slice(bounds);
        Ok(BoxLocation { buffer, offset, part: Some(Box::new(part)) })
    }

    pub(super) fn enter(&self, place: &BoxLocation, bounds: &[Range<usize>], write: bool) -> Result<u64, LeaseError> {
        let buffer = place.buffer;
        let overlaps =
            |other: &[Range<usize>]| bounds.iter().zip(other).all(|(a, b)| a.start < b.end && b.start < a.end);
        let meets = |entry: &Entry| {
            if entry.buffer == buffer {
                return entry.bounds.as_deref().is_none_or(overlaps);
            }
            let (mine, theirs) = (self.slot(buffer).addresses(), self.slot(entry.buffer).addresses());
            mine.start < theirs.end && theirs.start < mine.end
        };
        let mut ledger = lock(&self.ledger);
        let id = ledger.next;
        ledger.next += 1;
        if bounds.iter().any(Range::is_empty) {
            return Ok(id);
        }
        if ledger.live.iter().any(|entry| (entry.write || write) && meets(entry)) {
            return Err(LeaseError::Conflict { buffer });
        }
        let bounds = place.part.is_some().then(|| bounds.to_vec());
        ledger.live.push(Entry { id, buffer, bounds, write });
        Ok(id)
    }
}
