//! The layout of a box of a buffer, as local plans need it. Buffers are dense row-major arrays, including the user's
//! unless a run passes other strides.

use super::{Schedule, View, Work};
use crate::dims::Label;
use crate::local_plan::{Layout, row_major};

/// Labels, extents and strides of a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidOut<'a> {
    labels: &'a [Label],
    extents: Vec<usize>,
    strides: Vec<isize>,
}

impl LaidOut<'_> {
    pub fn layout(&self) -> Layout<'_> {
        Layout::new(self.labels, &self.extents, &self.strides)
    }
}

impl Schedule {
    pub fn laid_out(&self, view: &View) -> LaidOut<'_> {
        self.box_of(view, &self.buffers[view.buffer].within)
    }

    /// As [`Schedule::laid_out`], for a buffer that is a box of a dense array of these extents.
    pub fn box_of(&self, view: &View, array: &[usize]) -> LaidOut<'_> {
        let extents = view.bounds.iter().map(ExactSizeIterator::len).collect();
        LaidOut { labels: &self.buffers[view.buffer].labels, extents, strides: row_major(array) }
    }

    /// The tensors of a contraction; `None` for other work.
    pub fn contraction(&self, work: &Work) -> Option<[LaidOut<'_>; 3]> {
        match work {
            Work::Contract { left, right, out, .. } => Some([left, right, out].map(|view| self.laid_out(view))),
            _ => None,
        }
    }
}
