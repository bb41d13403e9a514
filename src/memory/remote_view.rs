//! Describes boxes of one process that another process reads in place.
//!
//! ```text
//! owner     a leased box  ->  ExportedView { segment 7, offset 512, .. }     not written while the lease lasts
//! peer      ExportedView  ->  Remote, in its own mapping of segment 7        checked to be inside the segment
//! ```
//!
//! Invariant: all elements of a box are in one segment. The transports (`comm`) notify the owner when the peer has
//! read the boxes.

use std::rc::Rc;

use super::Aligned;
use super::segment::{Mapping, Segment, SegmentHandle};
use super::strided::{Located, Strided};

/// A box in one of the owner's segments, to be sent to a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedView {
    pub segment: SegmentHandle,
    /// Bytes from the start of the segment to the first element.
    pub offset: usize,
    /// Size of an element in bytes.
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

    /// Returns a view of all of `memory`; `None` if `memory` is not a segment.
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
