//! Lists cache lines of an operand that will be packed next. Micro-kernels prefetch them one by one, because processors
//! drop prefetches when too many are in flight.

use std::ops::Range;

use crate::local_plan::{BoxAt, CACHE_LINE, Table};

/// Lines at the sums of an inner and an outer offset from `from`, of which some have been listed.
#[derive(Clone, Copy)]
pub(super) struct Upcoming<'a, T> {
    from: *const T,
    inner: &'a [isize],
    /// Between the indices of `inner` that are listed.
    stride: usize,
    outer: &'a [isize],
    listed: [usize; 2],
}

impl<'a, T> Upcoming<'a, T> {
    pub const NONE: Self = Upcoming { from: std::ptr::null(), inner: &[], stride: 1, outer: &[], listed: [0; 2] };

    /// Returns the lines of a box, whose first element is at `from`, in an operand.
    pub fn rows(operand: usize, from: *const T, rows: BoxAt<'a>, depth: BoxAt<'a>) -> Self {
        let (rows, depth) = (rows.table, depth.table);
        let lists = if rows.unit[0].is_some() {
            [&rows.lines[0], &depth.offsets[operand]]
        } else {
            [&rows.offsets[0], &depth.lines[operand]]
        };
        let [inner, outer] = lists.map(|list| &list[..]);
        Upcoming { from, inner, stride: 1, outer, listed: [0; 2] }
    }

    /// Returns the lines of one panel, the indices `panel` of `rows`, in an operand.
    pub fn panel(operand: usize, from: *const T, rows: &'a Table, panel: Range<usize>, depth: &'a Table) -> Self {
        let inner = &rows.offsets[0][panel];
        let along_rows = rows.unit[0].is_some();
        let outer = if along_rows { &depth.offsets[operand] } else { &depth.lines[operand] };
        let stride = if along_rows { CACHE_LINE / size_of::<T>() } else { 1 };
        Upcoming { from, inner, stride, outer, listed: [0; 2] }
    }

    pub fn len(&self) -> usize {
        self.inner.len().div_ceil(self.stride) * self.outer.len()
    }

    /// Appends at least `count` further lines to `lines`, or all that are left.
    pub fn list(&mut self, count: usize, lines: &mut Vec<*const T>) {
        let end = lines.len() + count;
        let [inner, outer] = &mut self.listed;
        while lines.len() < end && *outer < self.outer.len() {
            let from = self.from.wrapping_offset(self.outer[*outer]);
            let most = (end - lines.len()) * self.stride;
            let offsets = &self.inner[*inner..self.inner.len().min(*inner + most)];
            lines.extend(offsets.iter().step_by(self.stride).map(|&offset| from.wrapping_offset(offset)));
            *inner += offsets.len();
            if *inner == self.inner.len() {
                (*inner, *outer) = (0, *outer + 1);
            }
        }
    }
}
