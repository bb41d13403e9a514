//! Boxes of one process that another one reads where they lie.
//!
//! ```text
//! owner     a leased box  ->  ExportedView { segment 7, offset 512, extents, strides }     while the lease lasts, nobody writes it
//! peer      ExportedView  ->  Remote, in its own mapping of segment 7                      checked: inside of the segment
//! ```
//!
//! Invariant: all elements of a box lie in one segment. Deliberately absent: how peers tell each other of boxes, and when they are done.

use std::rc::Rc;

use super::Aligned;
use super::segment::{Known, Mapping, Segment};
use super::stream::{Located, Outgoing};
use super::strided::Strided;

/// A box in a segment of its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedView {
    pub segment: Known,
    /// Bytes from the start of the segment to the first element.
    pub offset: usize,
    /// Bytes of an element.
    pub element: usize,
    pub strided: Strided,
}

/// A box of another process.
#[derive(Debug)]
pub struct Remote {
    /// Bytes from the start of the mapping.
    offset: usize,
    element: usize,
    strided: Strided,
    mapping: Rc<Mapping>,
}

impl Outgoing {
    /// Where the boxes lie for others to read, before the first step; `None` if any of them does not.
    pub fn lend(&self) -> Option<Vec<ExportedView>> {
        let lend = |placed: &dyn Located| {
            let (segment, offset) = Segment::find(placed.start() as usize)?;
            let lent = ExportedView { segment, offset, element: placed.element(), strided: placed.strided().clone() };
            lent.is_inside().then_some(lent)
        };
        self.boxes().iter().filter(|lease| lease.bytes() > 0).map(|lease| lend(lease)).collect()
    }
}

impl ExportedView {
    /// The whole of some memory, if it is a segment.
    pub fn sample(memory: &Aligned) -> Option<ExportedView> {
        let (segment, offset) = Segment::find(memory.as_ptr() as usize)?;
        Some(ExportedView { segment, offset, element: 1, strided: Strided::row_major(&[memory.len()]) })
    }

    /// Whether all elements lie inside of the segment.
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
    /// `None` if the box does not lie inside of what is mapped.
    pub(crate) fn new(lent: ExportedView, mapping: Rc<Mapping>) -> Option<Remote> {
        let is_inside = lent.segment.bytes <= mapping.bytes() && lent.is_inside();
        let ExportedView { offset, element, strided, .. } = lent;
        is_inside.then_some(Remote { offset, element, strided, mapping })
    }
}

impl Located for Remote {
    fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies inside of the mapping, which `new` has checked.
        unsafe { self.mapping.start().as_ptr().add(self.offset) }
    }

    fn strided(&self) -> &Strided {
        &self.strided
    }

    fn element(&self) -> usize {
        self.element
    }
}
