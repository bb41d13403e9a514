//! Lists cache lines that will be packed next, for micro-kernels to prefetch (`docs/kernels.md`).
//!
//! Invariant: each line is listed once.

use std::ops::Range;

use smallvec::SmallVec;

use crate::local_plan::Table;

/// On the stack, because contractions do not allocate.
pub(super) type Lines<T> = SmallVec<[*const T; 1024]>;
/// A multiple of the lines that micro-kernels prefetch together.
pub(super) const MAX_LINES: usize = 1023;

/// Lines at the sums of an inner and an outer offset from `from`.
#[derive(Clone, Copy)]
pub(super) struct Upcoming<'a, T> {
    from: *const T,
    inner: &'a [isize],
    outer: &'a [isize],
    listed: [usize; 2],
}

impl<'a, T> Upcoming<'a, T> {
    pub const NONE: Self = Upcoming { from: std::ptr::null(), inner: &[], outer: &[], listed: [0; 2] };

    pub fn rows(from: *const T, rows: &'a Table, depth: &'a Table) -> Self {
        let lists = if rows.unit[0].is_some() {
            [&rows.lines[0], &depth.offsets[0]]
        } else {
            [&rows.offsets[0], &depth.lines[0]]
        };
        let [inner, outer] = lists.map(|list| &list[..]);
        Upcoming { from, inner, outer, listed: [0; 2] }
    }

    pub fn panel(from: *const T, rows: &'a Table, panel: Range<usize>, depth: &'a Table) -> Self {
        Upcoming { from, inner: &rows.offsets[0][panel], outer: &depth.lines[1], listed: [0; 2] }
    }

    pub fn left(&self) -> usize {
        self.inner.len() * (self.outer.len() - self.listed[1]) - self.listed[0]
    }

    pub fn is_listed(&self) -> bool {
        !self.outer.is_empty() && self.left() == 0
    }

    pub fn list(&mut self, count: usize, lines: &mut Lines<T>) {
        let end = lines.len() + count;
        let [inner, outer] = &mut self.listed;
        while lines.len() < end && *outer < self.outer.len() {
            let from = self.from.wrapping_offset(self.outer[*outer]);
            let offsets = &self.inner[*inner..self.inner.len().min(*inner + end - lines.len())];
            lines.extend(offsets.iter().map(|&offset| from.wrapping_offset(offset)));
            *inner += offsets.len();
            if *inner == self.inner.len() {
                (*inner, *outer) = (0, *outer + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;
