//! Packs a box of an operand into panels, whose rows are contiguous at each step (index of the sum; `docs/kernels.md`).
//! Only the box is read; padding is 0.

use super::super::Element;
use super::super::simd::{Body, Both, prefetch};
use super::contiguous::copy_run;
use super::transpose::transpose_tile;
use crate::local_plan::{CACHE_LINE, PackBy, Table};

const LINES_AHEAD: usize = 24;

#[derive(Clone, Copy)]
pub(super) struct Pack<'a, T> {
    pub by: PackBy,
    pub from: *const T,
    /// The box's rows, or columns of the second operand.
    pub rows: &'a Table,
    /// The first row that is packed and the end: all, or with [`PackBy::Depth`] those of some panels.
    pub first: usize,
    pub end: usize,
    pub depth: &'a Table,
    pub operand: usize,
    pub panel: usize,
    pub to: *mut T,
    /// The indices of the slab (a batch dimension packed together), and their distances in the tensor and in the
    /// panels.
    pub slabs: usize,
    pub slab_stride: isize,
    pub slab_panels: usize,
    /// Whether lines were prefetched, so that [`PackBy::Depth`] does not.
    pub prefetched: bool,
}

impl<T: Element> Body for Pack<'_, T> {
    type Output = ();

    /// # Safety
    /// All elements at the offsets of the tables and slabs, relative to `from`, may be read. `to` has space for
    /// complete panels of each slab.
    #[inline(always)]
    unsafe fn run<S: Both>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if self.by == PackBy::Slab {
                self.slab::<S>();
            } else {
                for slab in 0..self.slabs {
                    let from = self.from.wrapping_offset(slab as isize * self.slab_stride);
                    let one = Pack { from, to: self.to.add(slab * self.slab_panels), ..self };
                    match self.by {
                        PackBy::Runs => one.runs::<S>(),
                        PackBy::Depth => one.depth::<S>(),
                        PackBy::Across => one.across::<S>(),
                        _ => one.elements(),
                    }
                }
            }
            self.pad();
        }
    }
}

impl<T: Element> Pack<'_, T> {
    #[inline(always)]
    fn place(&self, row: usize, step: usize) -> usize {
        let (panel, lane) = self.rows.panel_of(row, self.panel);
        (panel.number * self.depth.len() + step) * self.panel + lane
    }

    /// Counts rows from `row` on that are evenly spaced in one panel, and returns their stride. Callers loop, because
    /// closures would be compiled without the target features of `S`.
    #[inline(always)]
    fn piece(&self, row: usize) -> (usize, isize) {
        let (panel, lane) = self.rows.panel_of(row, self.panel);
        self.rows.run(0, row, panel.len - lane)
    }

    /// # Safety
    /// Same as for `run`, and `slabs` is 1.
    #[inline(always)]
    unsafe fn runs<S: Both>(self) {
        let steps = &self.depth.offsets[self.operand];
        let mut next = 0;
        while next < self.rows.len() {
            let row = next;
            let (len, stride) = self.piece(row);
            let from = self.from.wrapping_offset(self.rows.offsets[0][row]);
            let to = self.to.wrapping_add(self.place(row, 0));
            let panels = if len == self.panel { self.dense_panels(row) } else { 0 };
            // SAFETY: guaranteed by the caller for rows and steps of the box.
            unsafe {
                if panels > 1 {
                    self.panels_of_rows::<S>(steps, from, to, panels);
                    next += panels * self.panel;
                } else {
                    self.run_of_rows::<S>(steps, from, to, len, stride);
                    next += len;
                }
            }
        }
    }

    #[inline(always)]
    fn dense_panels(&self, row: usize) -> usize {
        let (len, stride) = self.rows.run(0, row, self.rows.run - row % self.rows.run);
        if stride == 1 { len / self.panel } else { 0 }
    }

    /// # Safety
    /// Same as for `run`, with `panels` complete panels whose rows are contiguous.
    #[inline(always)]
    unsafe fn panels_of_rows<S: Both>(&self, steps: &[isize], from: *const T, to: *mut T, panels: usize) {
        let distance = steps.len() * self.panel;
        // Copies of constant length become vector moves.
        macro_rules! copy {
            ($copy:path, $len:expr) => {
                for (step, &offset) in steps.iter().enumerate() {
                    // Steps are too far apart for the hardware prefetcher.
                    let ahead = steps[(step + 1).min(steps.len() - 1)] - offset;
                    for panel in 0..panels {
                        let from = from.wrapping_offset(offset).wrapping_add(panel * self.panel);
                        for line in (0..self.panel).step_by(CACHE_LINE / size_of::<T>()) {
                            prefetch(from.wrapping_offset(ahead).wrapping_add(line));
                        }
                        $copy(from, to.add(panel * distance + step * self.panel), $len);
                    }
                }
            };
        }
        use std::ptr::copy_nonoverlapping as copy;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.panel {
                4 => copy!(copy, 4),
                6 => copy!(copy, 6),
                8 => copy!(copy, 8),
                12 => copy!(copy, 12),
                14 => copy!(copy, 14),
                16 => copy!(copy, 16),
                24 => copy!(copy, 24),
                32 => copy!(copy, 32),
                48 => copy!(copy, 48),
                len => copy!(copy_run::<S, T>, len),
            }
        }
    }

    /// # Safety
    /// Same as for `run`, with `len` rows of one panel, `stride` apart.
    #[inline(always)]
    unsafe fn run_of_rows<S: Both>(&self, steps: &[isize], from: *const T, to: *mut T, len: usize, stride: isize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if stride != 1 {
                for (step, &offset) in steps.iter().enumerate() {
                    for i in 0..len {
                        *to.add(step * self.panel + i) = *from.wrapping_offset(offset + i as isize * stride);
                    }
                }
                return;
            }
            // Copies of constant length become vector moves.
            macro_rules! copy {
                ($len:expr) => {
                    for (step, &offset) in steps.iter().enumerate() {
                        let to = to.add(step * self.panel);
                        std::ptr::copy_nonoverlapping(from.wrapping_offset(offset), to, $len);
                    }
                };
            }
            match len {
                4 => copy!(4),
                6 => copy!(6),
                8 => copy!(8),
                12 => copy!(12),
                14 => copy!(14),
                16 => copy!(16),
                24 => copy!(24),
                32 => copy!(32),
                48 => copy!(48),
                _ => {
                    for (step, &offset) in steps.iter().enumerate() {
                        copy_run::<S, T>(from.wrapping_offset(offset), to.add(step * self.panel), len);
                    }
                }
            }
        }
    }

    /// # Safety
    /// Same as for `run`, and `slabs` is 1.
    #[inline(always)]
    unsafe fn depth<S: Both>(self) {
        let Some((distance, neighbours)) = self.depth.unit[self.operand] else { return };
        let steps = &self.depth.offsets[self.operand];
        // `begin` returns the first of a tile's `neighbours` contiguous steps.
        let tiles = self.depth.len() / neighbours;
        let begin = |tile: usize| tile / distance * distance * neighbours + tile % distance;
        let mut next = self.first;
        while next < self.end {
            let row = next;
            let (len, stride) = self.piece(row);
            next += len;
            let from = self.from.wrapping_offset(self.rows.offsets[0][row]);
            // Rows without unused cache lines between them are prefetched together.
            let line = CACHE_LINE / size_of::<T>();
            let dense = stride.unsigned_abs() <= neighbours.max(line);
            let (stretches, length) =
                if dense { (1, (len - 1) * stride.unsigned_abs() + neighbours) } else { (len, neighbours) };
            let below = if dense { stride.min(0) * (len as isize - 1) } else { 0 };
            let lines = stretches * length.div_ceil(line);
            let ahead = LINES_AHEAD.div_ceil(lines);
            for tile in 0..tiles {
                let step = begin(tile);
                // Tiles are too far apart for the hardware prefetcher.
                if !self.prefetched && tile + ahead < tiles {
                    let soon = from.wrapping_offset(steps[begin(tile + ahead)] + below);
                    for stretch in 0..stretches {
                        let start = soon.wrapping_offset(stretch as isize * stride);
                        (0..length - 1).step_by(line).for_each(|at| prefetch(start.wrapping_add(at)));
                        // The last element may be on another line.
                        prefetch(start.wrapping_add(length - 1));
                    }
                }
                // SAFETY: guaranteed by the caller for rows and steps of the box.
                unsafe {
                    let (from, to) = (from.wrapping_offset(steps[step]), self.to.add(self.place(row, step)));
                    transpose_tile::<S, T>(from, stride, to, (distance * self.panel) as isize, len, neighbours);
                }
            }
        }
    }

    /// # Safety
    /// Same as for `run`, and `slabs` is 1.
    #[inline(always)]
    unsafe fn across<S: Both>(self) {
        const SIDE: usize = 16;
        let Some((distance, neighbours)) = self.rows.unit[0] else { return };
        let steps = &self.depth.offsets[self.operand];
        // Adjacent rows have the same position in their panels if their distance is a multiple of the run length
        // (panels do not cross runs), or of the panel's rows if there is one run.
        let one_run = self.rows.run == self.rows.len();
        let whole_panels = distance.is_multiple_of(self.rows.run) || (one_run && distance.is_multiple_of(self.panel));
        let mut tile = [T::ZERO; SIDE * SIDE];
        for outer in (0..self.rows.len()).step_by(distance * neighbours) {
            let mut row = outer;
            while row < outer + distance {
                let (panel, lane) = self.rows.panel_of(row, self.panel);
                let most = (outer + distance - row).min(panel.len - lane).min(SIDE);
                let (len, stride) = self.rows.run(0, row, most);
                let next = if neighbours > 1 { self.place(row + distance, 0) - self.place(row, 0) } else { 0 };
                let from = self.from.wrapping_offset(self.rows.offsets[0][row]);
                for (step, &offset) in steps.iter().enumerate() {
                    let from = from.wrapping_offset(offset);
                    // SAFETY: guaranteed by the caller for rows and steps of the box; the tile has 16 x 16 elements.
                    unsafe {
                        if whole_panels {
                            let to = self.to.add(self.place(row, step));
                            transpose_tile::<S, T>(from, stride, to, next as isize, len, neighbours);
                            continue;
                        }
                        for first in (0..neighbours).step_by(SIDE) {
                            let count = SIDE.min(neighbours - first);
                            let to = tile.as_mut_ptr();
                            transpose_tile::<S, T>(from.wrapping_add(first), stride, to, SIDE as isize, len, count);
                            for i in 0..count {
                                let row = row + (first + i) * distance;
                                let (panel, lane) = self.rows.panel_of(row, self.panel);
                                let here = len.min(panel.len - lane);
                                let line = tile.as_ptr().add(i * SIDE);
                                copy_run::<S, T>(line, self.to.add(self.place(row, step)), here);
                                if here < len {
                                    let to = self.to.add(self.place(row + here, step));
                                    copy_run::<S, T>(line.add(here), to, len - here);
                                }
                            }
                        }
                    }
                }
                row += len;
            }
        }
    }

    /// # Safety
    /// Same as for `run`.
    #[inline(always)]
    unsafe fn slab<S: Both>(self) {
        let steps = &self.depth.offsets[self.operand];
        let mut next = 0;
        while next < self.rows.len() {
            let row = next;
            let (len, stride) = self.piece(row);
            next += len;
            let from = self.from.wrapping_offset(self.rows.offsets[0][row]);
            for (step, &offset) in steps.iter().enumerate() {
                // SAFETY: guaranteed by the caller for rows, steps and slabs of the box.
                unsafe {
                    let to = self.to.add(self.place(row, step));
                    let panels = self.slab_panels as isize;
                    transpose_tile::<S, T>(from.wrapping_offset(offset), stride, to, panels, len, self.slabs);
                }
            }
        }
    }

    /// # Safety
    /// Same as for `run`, and `slabs` is 1.
    #[inline(always)]
    unsafe fn elements(self) {
        for (row, &row_offset) in self.rows.offsets[0].iter().enumerate() {
            let from = self.from.wrapping_offset(row_offset);
            // SAFETY: guaranteed by the caller for rows and steps of the box.
            unsafe {
                let to = self.to.add(self.place(row, 0));
                for (step, &offset) in self.depth.offsets[self.operand].iter().enumerate() {
                    *to.add(step * self.panel) = *from.wrapping_offset(offset);
                }
            }
        }
    }

    /// # Safety
    /// Same as for `run`.
    #[inline(always)]
    unsafe fn pad(self) {
        if self.rows.run.is_multiple_of(self.panel) {
            return;
        }
        let last = (self.rows.run - 1) / self.panel * self.panel;
        let firsts = (last..self.rows.len()).step_by(self.rows.run);
        for first in firsts.filter(|&first| (self.first..self.end).contains(&first)) {
            let (panel, _) = self.rows.panel_of(first, self.panel);
            for slab in 0..self.slabs {
                for step in 0..self.depth.len() {
                    let at = slab * self.slab_panels + self.place(first, step) + panel.len;
                    // SAFETY: the space at `to` includes padding.
                    unsafe { std::slice::from_raw_parts_mut(self.to.add(at), self.panel - panel.len).fill(T::ZERO) };
                }
            }
        }
    }
}
