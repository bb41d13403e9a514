//! A tensor's layout by labels, extents and strides, without its elements.
//!
//! Invariant: the slices have equal lengths. Strides are in elements and may be negative or zero.

use crate::dims::Label;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout<'a> {
    pub labels: &'a [Label],
    pub extents: &'a [usize],
    pub strides: &'a [isize],
}

impl<'a> Layout<'a> {
    /// # Panics
    /// If the slices differ in length.
    pub fn new(labels: &'a [Label], extents: &'a [usize], strides: &'a [isize]) -> Self {
        assert!(
            labels.len() == extents.len() && extents.len() == strides.len(),
            "a tensor with {} labels, {} extents and {} strides",
            labels.len(),
            extents.len(),
            strides.len()
        );
        Layout { labels, extents, strides }
    }

    pub fn extent(&self, label: Label) -> Option<usize> {
        self.position(label).map(|at| self.extents[at])
    }

    /// 0 if the tensor lacks the label, as in a broadcast.
    pub fn stride(&self, label: Label) -> isize {
        self.position(label).map_or(0, |at| self.strides[at])
    }

    fn position(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|&l| l == label)
    }
}

pub fn row_major(extents: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; extents.len()];
    let mut step = 1isize;
    for (stride, &extent) in strides.iter_mut().zip(extents).rev() {
        *stride = step;
        step = step.saturating_mul(extent.max(1) as isize);
    }
    strides
}

/// A key of cached plans, equal up to labels' names, which are numbered by first occurrence.
pub fn key(layouts: &[Layout]) -> Vec<isize> {
    let mut seen: Vec<Label> = Vec::new();
    let mut key = Vec::new();
    for layout in layouts {
        key.push(layout.labels.len() as isize);
        for ((&label, &extent), &stride) in layout.labels.iter().zip(layout.extents).zip(layout.strides) {
            let first = seen.iter().position(|&earlier| earlier == label).unwrap_or_else(|| {
                seen.push(label);
                seen.len() - 1
            });
            key.extend([first as isize, extent as isize, stride]);
        }
    }
    key
}
