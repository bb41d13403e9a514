//! Computes the layout of a box of a buffer for plans of local contractions. Buffers are dense row-major arrays, and
//! so are a user's blocks unless the caller passes different strides.

use super::{Schedule, View, Work};
use crate::dims::Label;
use crate::local_plan::{Layout, row_major};

/// The labels, extents and strides of a box of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewLayout<'a> {
    labels: &'a [Label],
    extents: Vec<usize>,
    strides: Vec<isize>,
}

impl ViewLayout<'_> {
    pub fn layout(&self) -> Layout<'_> {
        Layout::new(self.labels, &self.extents, &self.strides)
    }
}

impl Schedule {
    /// The layout of the elements that a task accesses in a buffer.
    pub fn view_layout(&self, view: &View) -> ViewLayout<'_> {
        self.box_of(view, &self.buffers[view.buffer].within)
    }

    /// Like [`Schedule::view_layout`], with the extents of the dense array around the buffer.
    pub fn box_of(&self, view: &View, array: &[usize]) -> ViewLayout<'_> {
        let labels = &self.buffers[view.buffer].labels;
        ViewLayout { labels, extents: view.extents(), strides: row_major(array) }
    }

    /// The layouts of `left`, `right` and `out` of a contraction.
    pub fn contraction(&self, work: &Work) -> Option<[ViewLayout<'_>; 3]> {
        match work {
            Work::Contract { left, right, out, .. } => Some([left, right, out].map(|view| self.view_layout(view))),
            _ => None,
        }
    }
}
