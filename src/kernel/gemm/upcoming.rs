//! Lists cache lines of an operand that will be packed next. Micro-kernels prefetch them one by one, because processors
//! drop prefetches when too many are in flight.

use std::ops::Range;

use crate::local_plan::Table;

/// Lines at the sums of an inner and an outer offset from `from`, of which some have been listed.
#[derive(Clone, Copy)]
pub(super) struct Upcoming<'a, T> {
    from: *const T,
    inner: &'a [isize],
    outer: &'a [isize],
    listed: [usize; 2],
}

impl<'a, T> Upcoming<'a, T> {
    pub const NONE: Self = Upcoming { from: std::ptr::null(), inner: &[], outer: &[], listed: [0; 2] };

    /// Returns the lines of a box of rows, whose first element is at `from`.
    pub fn rows(from: *const T, rows: &'a Table, depth: &'a Table) -> Self {
        let lists = if rows.unit[0].is_some() {
            [&rows.lines[0], &depth.offsets[0]]
        } else {
            [&rows.offsets[0], &depth.lines[0]]
        };
        let [inner, outer] = lists.map(|list| &list[..]);
        Upcoming { from, inner, outer, listed: [0; 2] }
    }

    /// Returns the lines of a panel of columns that is packed along the depth.
    pub fn panel(from: *const T, rows: &'a Table, panel: Range<usize>, depth: &'a Table) -> Self {
        Upcoming { from, inner: &rows.offsets[0][panel], outer: &depth.lines[1], listed: [0; 2] }
    }

    pub fn len(&self) -> usize {
        self.inner.len() * self.outer.len()
    }

    /// Appends `count` further lines to `lines`, or all that are left.
    pub fn list(&mut self, count: usize, lines: &mut Vec<*const T>) {
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
