//! Reads or writes boxes, also of another process, in steps of any size, in sequence, each in row-major order.
//!
//! All elements of another process's box are in one segment, leased by its owner until the transports (`comm`) notify
//! it.
//!
//! Guarantee: the steps move the same bytes as [`ReadLease::pack`] or [`WriteLease::unpack`] for each box. Cost: the
//! copy, plus a few operations per dense run.

use std::rc::Rc;

use super::Aligned;
use super::copy::StoreKind;
use super::lease::{ReadLease, WriteLease};
use super::segment::{Mapping, Segment, SegmentHandle};
use super::strided::{Located, Strided};

#[derive(Debug)]
struct OuterDim {
    extent: usize,
    /// In bytes.
    stride: isize,
    index: usize,
}

/// The dense runs of a box, divided where steps end.
#[derive(Debug)]
struct Runs {
    /// Empty for a single run.
    outer: Box<[OuterDim]>,
    /// In bytes, of the current or next run.
    offset: isize,
    run: usize,
    done: usize,
    left: usize,
}

impl Runs {
    fn of(strided: &Strided, size: usize) -> Runs {
        let (dims, run) = strided.dense_suffix();
        let outer = strided.extents.iter().zip(&strided.strides).take(strided.extents.len() - dims);
        Runs {
            outer: outer
                .map(|(&extent, stride)| OuterDim { extent, stride: stride * size as isize, index: 0 })
                .collect(),
            offset: 0,
            run: run * size,
            done: 0,
            left: strided.elements() * size,
        }
    }

    fn next(&mut self, max_bytes: usize) -> (isize, usize) {
        let bytes = max_bytes.min(self.run - self.done);
        let offset = self.offset + self.done as isize;
        self.done += bytes;
        self.left -= bytes;
        if self.done == self.run && self.left > 0 {
            self.advance();
        }
        (offset, bytes)
    }

    fn advance(&mut self) {
        self.done = 0;
        for OuterDim { extent, stride, index } in self.outer.iter_mut().rev() {
            *index += 1;
            self.offset += *stride;
            if index < extent {
                return;
            }
            self.offset -= *stride * *index as isize;
            *index = 0;
        }
    }
}

#[derive(Debug)]
struct Steps<L> {
    boxes: std::vec::IntoIter<L>,
    /// Of the first of `boxes`; `None` until a step reaches it.
    runs: Option<Runs>,
    left: usize,
}

impl<L: Located> Steps<L> {
    fn new(boxes: Vec<L>) -> Steps<L> {
        let left = boxes.iter().map(|placed| placed.strided().elements() * placed.element()).sum();
        Steps { boxes: boxes.into_iter(), runs: None, left }
    }

    /// Calls `visit(address, length)` for the next `bytes` bytes, and drops leases of finished boxes.
    fn step(&mut self, mut bytes: usize, mut visit: impl FnMut(*mut u8, usize)) {
        assert!(bytes <= self.left, "the boxes have as many bytes");
        self.left -= bytes;
        while let Some(first) = self.boxes.as_slice().first() {
            let runs = self.runs.get_or_insert_with(|| Runs::of(first.strided(), first.element()));
            let start = first.start();
            while bytes > 0 && runs.left > 0 {
                let (offset, run) = runs.next(bytes);
                // SAFETY: the run is inside the box, which is not empty.
                visit(unsafe { start.offset(offset) }, run);
                bytes -= run;
            }
            if runs.left > 0 {
                return;
            }
            (self.runs, _) = (None, self.boxes.next());
        }
        debug_assert!(bytes == 0, "boxes have as many bytes as they had");
    }
}

#[derive(Debug)]
pub struct Outgoing(Steps<ReadLease>);

impl Outgoing {
    pub fn new(boxes: Vec<ReadLease>) -> Outgoing {
        Outgoing(Steps::new(boxes))
    }

    pub fn left(&self) -> usize {
        self.0.left
    }

    /// Returns where other processes can read the boxes, if all are in segments. Must precede the first step.
    pub fn lend(&self) -> Option<Vec<ExportedView>> {
        debug_assert!(self.0.runs.is_none(), "a part has been read");
        let boxes = self.0.boxes.as_slice().iter();
        boxes.filter(|lease| lease.bytes() > 0).map(ExportedView::of).collect()
    }

    /// Fills `out` with the next bytes, of which enough must be left.
    pub fn read(&mut self, out: &mut [u8], store_kind: StoreKind) {
        let mut done = 0;
        self.0.step(out.len(), |run, bytes| {
            // SAFETY: the run is leased for reading. `out` is a disjoint exclusive slice, and the runs of the step add
            // up to its length.
            unsafe { store_kind.copy(run.cast_const(), out[done..done + bytes].as_mut_ptr(), bytes) };
            done += bytes;
        });
    }
}

#[derive(Debug)]
pub struct RemoteReader(Steps<Remote>);

impl RemoteReader {
    /// Like [`Outgoing::read`], under a lease of the owner.
    pub(crate) fn read(&mut self, out: &mut [u8]) {
        let mut done = 0;
        self.0.step(out.len(), |run, bytes| {
            // SAFETY: the run is in memory that the other process keeps unchanged until it is notified that the boxes
            // have been read. `out` is a disjoint exclusive slice, and the runs of the step add up to its length.
            unsafe { std::ptr::copy_nonoverlapping(run.cast_const(), out[done..done + bytes].as_mut_ptr(), bytes) };
            done += bytes;
        });
    }

    pub(crate) fn new(boxes: Vec<Remote>) -> RemoteReader {
        RemoteReader(Steps::new(boxes))
    }

    pub fn left(&self) -> usize {
        self.0.left
    }
}

#[derive(Debug)]
pub struct Incoming(Steps<WriteLease>);

impl Incoming {
    pub fn new(boxes: Vec<WriteLease>) -> Incoming {
        Incoming(Steps::new(boxes))
    }

    pub fn left(&self) -> usize {
        self.0.left
    }

    /// Copies the next `bytes` bytes of another process's boxes into these boxes.
    pub fn copy(&mut self, from: &mut RemoteReader, bytes: usize, store_kind: StoreKind) {
        from.0.step(bytes, |run, bytes| {
            // SAFETY: the run is in memory that the other process keeps unchanged until it is notified that the boxes
            // have been copied.
            self.write(unsafe { std::slice::from_raw_parts(run.cast_const(), bytes) }, store_kind);
        });
    }

    /// Writes `from` to the next bytes of the boxes, of which enough must be left.
    pub fn write(&mut self, from: &[u8], store_kind: StoreKind) {
        let mut done = 0;
        self.0.step(from.len(), |run, bytes| {
            // SAFETY: the run is leased for writing, so nothing else accesses it. `from` is a disjoint slice, and the
            // runs of the step add up to its length.
            unsafe { store_kind.copy(from[done..done + bytes].as_ptr(), run, bytes) };
            done += bytes;
        });
    }
}

/// A box in one of the owner's segments, to be sent to a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedView {
    pub segment: SegmentHandle,
    /// Bytes from the start of the segment to the first element.
    pub offset: usize,
    /// In bytes.
    pub element: usize,
    pub strided: Strided,
}

/// A box of another process, in this process's mapping of its segment.
#[derive(Debug)]
pub struct Remote {
    offset: usize,
    element: usize,
    strided: Strided,
    mapping: Rc<Mapping>,
}

impl ExportedView {
    pub(super) fn of(located: &impl Located) -> Option<ExportedView> {
        let (segment, offset) = Segment::find(located.start() as usize)?;
        let view = ExportedView { segment, offset, element: located.element(), strided: located.strided().clone() };
        view.is_inside().then_some(view)
    }

    /// A view of all of `memory`; `None` if `memory` is not a segment.
    pub fn sample(memory: &Aligned) -> Option<ExportedView> {
        let (segment, offset) = Segment::find(memory.as_ptr() as usize)?;
        Some(ExportedView { segment, offset, element: 1, strided: Strided::row_major(&[memory.len()]) })
    }

    fn is_inside(&self) -> bool {
        let (mut first, mut last) = (self.offset as i128, self.offset as i128 + self.element as i128);
        for (&extent, &stride) in self.strided.extents.iter().zip(&self.strided.strides) {
            let way = stride as i128 * (extent as i128 - 1).max(0) * self.element as i128;
            *(if way < 0 { &mut first } else { &mut last }) += way;
        }
        first >= 0 && last <= self.segment.bytes as i128
    }
}

impl Remote {
    /// Checks that the box is inside the mapping; otherwise `None`.
    pub(crate) fn new(view: ExportedView, mapping: Rc<Mapping>) -> Option<Remote> {
        let is_inside = view.segment.bytes <= mapping.bytes() && view.is_inside();
        let ExportedView { offset, element, strided, .. } = view;
        is_inside.then_some(Remote { offset, element, strided, mapping })
    }
}

impl Located for Remote {
    fn start(&self) -> *mut u8 {
        // SAFETY: the offset is inside the mapping, as `new` has checked.
        unsafe { self.mapping.start().as_ptr().add(self.offset) }
    }

    fn strided(&self) -> &Strided {
        &self.strided
    }

    fn element(&self) -> usize {
        self.element
    }
}

#[cfg(test)]
mod tests;
