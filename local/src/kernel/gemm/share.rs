//! Computes a thread's share of a [`GemmPlan`], box (cache block) by box: batches, column boxes, depth boxes and row
//! boxes, outermost first, so that packed boxes are reused. Micro-kernels prefetch what is packed next.
//!
//! Invariant: if `unpacked` is set, the next product packs each panel of columns before it multiplies it.

use std::ops::Range;

use super::super::Element;
use super::super::micro::{Call, LINES, lines_of_tile};
use super::super::permute::{Factors, permute};
use super::super::simd::{dispatch, fence};
use super::Arguments;
use super::batch::Batch;
use super::multiply::Multiply;
use super::pack::Pack;
use super::store::Store;
use super::upcoming::{Lines, MAX_LINES, Upcoming};
use crate::local_plan::{
    Access, BoxAt, CACHE_LINE, GemmPlan, Group, Isa, KernelFamily, MAX_COLUMNS, OutAccess, PackBy, Panel, RowLayout,
    Table,
};

/// The prefetch distance for an operand that is read in place.
const PREFETCH_STEPS: isize = 8;

/// The address and the strides, in elements, of a box of one operand, packed or in place.
#[derive(Clone, Copy)]
struct Panels<T> {
    start: *const T,
    /// 0 if the operand is read in place.
    panel: usize,
    /// Between steps of the sum.
    step: isize,
    /// Between rows or columns, if the operand is read in place.
    across: isize,
    slab: isize,
}

struct Product<'a, T: Element> {
    call: Call<T::Real>,
    left: Panels<T>,
    right: Panels<T>,
    out: *mut T,
    beta: T,
    boxes: [BoxAt<'a>; 2],
    /// To prefetch during the current panel of columns.
    lines: Lines<T>,
    prefetched: usize,
}

pub(super) struct GemmShare<'a, T: Element> {
    plan: &'a GemmPlan,
    isa: Isa,
    arguments: Arguments<T>,
    /// For the packed rows, the packed columns, a dense box of `out`, and a register tile.
    buffers: [*mut T; 4],
    /// The batch, depth box and row box of the packed rows.
    packed_rows: Option<[usize; 3]>,
    /// Columns that are packed panel by panel while the first box of rows is multiplied.
    unpacked: Option<Pack<'a, T>>,
    /// The rows, and the first panel of columns, to be packed next.
    upcoming: [Upcoming<'a, T>; 2],
    multiply: Multiply<T>,
    streams: bool,
    /// Offsets in the register tile and in the dense box.
    columns: [[isize; MAX_COLUMNS]; 2],
}

impl<'a, T: Element> GemmShare<'a, T> {
    pub fn new(
        plan: &'a GemmPlan,
        isa: Isa,
        family: KernelFamily,
        arguments: Arguments<T>,
        workspace: &'a mut [T],
    ) -> Self {
        let mut rest = workspace;
        let buffers = plan.share_elements().map(|elements| {
            let (buffer, tail) = std::mem::take(&mut rest).split_at_mut(elements);
            rest = tail;
            buffer.as_mut_ptr()
        });
        let packed = plan.access[1] != Access::InPlace;
        let multiply = Multiply::new(isa, family, packed, [plan.vectors, plan.columns]);
        let columns = [plan.panel_rows(), plan.buffer_rows()];
        let columns = columns.map(|lead| std::array::from_fn(|i| (i * lead) as isize));
        let aligned = (arguments.out.at(0) as usize).is_multiple_of(CACHE_LINE);
        let streams = plan.streams && family == KernelFamily::Own && arguments.beta == T::ZERO && aligned;
        GemmShare {
            plan,
            isa,
            arguments,
            buffers,
            packed_rows: None,
            unpacked: None,
            upcoming: [Upcoming::NONE; 2],
            multiply,
            streams,
            columns,
        }
    }

    /// # Safety
    /// Same as for [`super::run`], with a range of depth boxes; no other share has this number or this workspace.
    pub unsafe fn run(&mut self, number: usize, depth: &Range<usize>) {
        let plan = self.plan;
        let counts = [plan.batches(), plan.rows.boxes(), plan.cols.boxes(), depth.len()];
        let [batches, row_range, col_range, steps] = plan.grid.share(number, counts);
        let steps = depth.start + steps.start..depth.start + steps.end;
        let (inner, extent) = plan.batch.last().map_or(([0; 3], 1), |dim| (dim.strides, dim.extent));
        if let Multiply::Own(own) = &mut self.multiply
            && row_range.len() == 1
            && col_range.len() == 1
            && let Some(mut products) = Batch::new(plan, own, self.arguments, inner)
        {
            let mut batch = batches.start;
            while batch < batches.end {
                let count = products.products_per_call.min(extent - batch % extent).min(batches.end - batch);
                // SAFETY: these are the offsets of a batch, which `count - 1` others follow in the innermost batch
                // loop.
                unsafe { products.run(self.batch(batch).0, count) };
                batch += count;
            }
            return;
        }
        for batch in batches.clone() {
            let (start, slabs) = self.batch(batch);
            for col in col_range.clone() {
                let cols = plan.cols.at(col);
                for step in steps.clone() {
                    let depth = plan.depth.at(step);
                    let beta = if step == steps.start { self.arguments.beta } else { T::ONE };
                    // SAFETY: all boxes are boxes of the plan.
                    unsafe {
                        let right = self.columns(start[1], cols, depth, slabs);
                        for row in row_range.clone() {
                            let rows = plan.rows.at(row);
                            let left = self.rows(start[0], rows, depth, slabs, [batch, step, row]);
                            let out = self.arguments.out.at(start[2] + rows.start[1] + cols.start[1]);
                            if plan.prefetches != [false; 2] {
                                let ranges = [&row_range, &steps, &col_range, &batches];
                                self.look_ahead([row, step, col, batch], ranges);
                            }
                            if plan.out == OutAccess::Buffered {
                                self.buffered(left, right, out, beta, [rows, cols], depth.table.len(), slabs);
                            } else {
                                let slab = plan.slab.dim.strides[2];
                                for i in 0..slabs as isize {
                                    let (left, right) = (slab_at(left, i), slab_at(right, i));
                                    let out = out.wrapping_offset(i * slab);
                                    self.product(left, right, out, beta, [rows, cols], depth.table.len());
                                }
                            }
                        }
                    }
                }
            }
        }
        if self.streams {
            fence();
        }
    }

    /// Finds what is packed for the product after `current`; `ranges` are innermost first.
    fn look_ahead(&mut self, current: [usize; 4], ranges: [&Range<usize>; 4]) {
        let plan = self.plan;
        self.upcoming = [Upcoming::NONE; 2];
        let Some(next) = following(current, ranges) else { return };
        let [row, step, col, batch] = next;
        let (start, _) = self.batch(batch);
        let depth = plan.depth.at(step);
        let from = |operand: usize, across: BoxAt| {
            self.arguments.operands[operand].at(start[operand] + across.start[0] + depth.start[operand])
        };
        let (rows, cols) = (plan.rows.at(row), plan.cols.at(col));
        if plan.prefetches[0] && self.packed_rows != Some([batch, step, row]) {
            self.upcoming[0] = Upcoming::rows(from(0, rows), rows.table, depth.table);
        }
        if plan.prefetches[1] && next[1..] != current[1..] {
            let panel = plan.col_panels(cols.shape)[0];
            self.upcoming[1] = Upcoming::panel(from(1, cols), cols.table, 0..panel.len, depth.table);
        }
    }

    fn batch(&self, batch: usize) -> ([isize; 3], usize) {
        let (slab, mut start) = (self.plan.slab, [0; 3]);
        let mut rest = batch;
        for dim in self.plan.batch.iter().rev() {
            (0..3).for_each(|t| start[t] += (rest % dim.extent) as isize * dim.strides[t]);
            rest /= dim.extent;
        }
        let first = rest * slab.size;
        (0..3).for_each(|t| start[t] += first as isize * slab.dim.strides[t]);
        (start, slab.size.min(slab.dim.extent - first))
    }

    /// # Safety
    /// The boxes are boxes of the plan, and `start` is the offset of a batch.
    unsafe fn columns(&mut self, start: isize, cols: BoxAt<'a>, depth: BoxAt<'a>, slabs: usize) -> Panels<T> {
        let from = self.arguments.operands[1].at(start + cols.start[0] + depth.start[1]);
        match self.plan.access[1] {
            Access::InPlace => self.in_place(1, from, cols.table, depth.table),
            Access::Packed(by) => {
                let pack = self.pack(1, by, from, [cols.table, depth.table], slabs);
                if self.plan.packs_by_panel() {
                    self.unpacked = Some(pack);
                } else {
                    // SAFETY: guaranteed by the caller.
                    unsafe { dispatch(self.isa, pack) };
                }
                self.panels(1, depth.table.len())
            }
        }
    }

    /// # Safety
    /// The boxes are boxes of the plan, `start` is the offset of a batch, and `box_id` identifies these boxes and no
    /// others.
    unsafe fn rows(
        &mut self,
        start: isize,
        rows: BoxAt<'a>,
        depth: BoxAt<'a>,
        slabs: usize,
        box_id: [usize; 3],
    ) -> Panels<T> {
        let from = self.arguments.operands[0].at(start + rows.start[0] + depth.start[0]);
        let Access::Packed(by) = self.plan.access[0] else {
            return self.in_place(0, from, rows.table, depth.table);
        };
        if self.packed_rows != Some(box_id) {
            let pack = self.pack(0, by, from, [rows.table, depth.table], slabs);
            self.packed_rows = Some(box_id);
            // SAFETY: guaranteed by the caller.
            unsafe { dispatch(self.isa, pack) };
        }
        self.panels(0, depth.table.len())
    }

    fn in_place(&self, operand: usize, start: *const T, across: &Table, depth: &Table) -> Panels<T> {
        let across = across.run(0, 0, 2).1;
        let slab = self.plan.slab.dim.strides[operand];
        Panels { start, panel: 0, step: depth.run(operand, 0, 2).1, across, slab }
    }

    fn panels(&self, operand: usize, depth: usize) -> Panels<T> {
        let panel = if operand == 0 { self.plan.panel_rows() } else { self.plan.columns };
        let slab = self.plan.panels_elements(operand) as isize;
        Panels { start: self.buffers[operand], panel: panel * depth, step: panel as isize, across: 1, slab }
    }

    /// Prepares to pack a box.
    fn pack(
        &self,
        operand: usize,
        by: PackBy,
        from: *const T,
        [rows, depth]: [&'a Table; 2],
        slabs: usize,
    ) -> Pack<'a, T> {
        let panels = self.panels(operand, depth.len());
        Pack {
            by,
            from,
            rows,
            first: 0,
            end: rows.len(),
            depth,
            operand,
            panel: panels.step as usize,
            to: self.buffers[operand],
            slabs,
            slab_stride: self.plan.slab.dim.strides[operand],
            slab_panels: panels.slab as usize,
            prefetched: self.upcoming[operand].is_listed(),
        }
    }

    /// # Safety
    /// Same as for [`GemmShare::product`], with all slabs of `out`.
    #[expect(clippy::too_many_arguments)]
    unsafe fn buffered(
        &mut self,
        left: Panels<T>,
        right: Panels<T>,
        out: *mut T,
        beta: T,
        boxes: [BoxAt; 2],
        depth: usize,
        slabs: usize,
    ) {
        let plan = self.plan;
        let buffer = self.buffers[2];
        let shapes = boxes.map(|at| at.shape);
        // SAFETY: guaranteed by the caller; the buffer has room for the longest box of each slab.
        unsafe {
            for i in 0..slabs {
                let start = buffer.add(i * plan.buffer_elements());
                let (left, right) = (slab_at(left, i as isize), slab_at(right, i as isize));
                self.product(left, right, start, T::ZERO, boxes, depth);
            }
            permute(plan.unpack(shapes, slabs), self.isa, buffer, out, Factors { alpha: T::ONE, beta });
        }
    }

    /// # Safety
    /// The panels contain the operands of the box, or `unpacked` packs them, or they point to them in place. The
    /// elements at the plan's offsets from `out` may be written, and are initialised unless `beta` is 0.
    unsafe fn product(
        &mut self,
        left: Panels<T>,
        right: Panels<T>,
        out: *mut T,
        beta: T,
        boxes: [BoxAt; 2],
        depth: usize,
    ) {
        let plan = self.plan;
        let parts = T::PARTS as isize;
        let in_place = plan.access[0] == Access::InPlace;
        let call = Call {
            depth,
            left: left.start.cast(),
            left_step: left.step * parts,
            left_next: (left.panel * T::PARTS) as isize,
            right: right.start.cast(),
            right_step: right.step * parts,
            right_column: right.across * parts,
            out: out.cast(),
            columns: std::ptr::null(),
            rows: 0,
            next: std::ptr::null(),
            ahead: if in_place { PREFETCH_STEPS * left.step * parts } else { 0 },
            lines: [std::ptr::null(); 2],
            left_padded: !in_place,
            streams: self.streams,
            prefetches_out: true,
            alpha: self.arguments.alpha.parts(),
            beta: beta.parts(),
            conjugated: self.arguments.conjugated,
        };
        let lines = Lines::new();
        let mut product = Product { call, left, right, out, beta, boxes, lines, prefetched: 0 };
        let groups = &plan.row_tiles(boxes[0].shape).groups;
        let cols = plan.col_panels(boxes[1].shape);
        let tiles = groups.iter().map(|group| group.count).sum::<usize>();
        let most = (tiles * lines_of_tile(depth)).min(MAX_LINES);
        // SAFETY: guaranteed by the caller; columns are packed before they are multiplied.
        unsafe {
            if plan.columns_inside {
                for group in groups {
                    for first in group.first..group.first + group.count {
                        let one = Group { first, count: 1, ..*group };
                        cols.iter().for_each(|&col| self.tiles(&mut product, one, col));
                    }
                }
            } else {
                let mut prefetched = self.unpacked.is_some_and(|pack| pack.prefetched);
                for (i, &col) in cols.iter().enumerate() {
                    if let Some(pack) = self.unpacked {
                        dispatch(self.isa, Pack { first: col.first, end: col.first + col.len, prefetched, ..pack });
                    }
                    prefetched = self.list_lines(&mut product, most, &cols[i..]);
                    groups.iter().for_each(|&group| self.tiles(&mut product, group, col));
                }
                self.unpacked = None;
            }
        }
    }

    /// Lists lines to prefetch during the first of the panels `cols`. Returns whether this completes the next one.
    fn list_lines(&mut self, product: &mut Product<'_, T>, most: usize, cols: &[Panel]) -> bool {
        if self.plan.prefetches == [false; 2] {
            return false;
        }
        let lines = &mut product.lines;
        lines.clear();
        product.prefetched = 0;
        let [rows, columns] = &mut self.upcoming;
        let of_rows = rows.left().div_ceil(cols.len()).min(most);
        rows.list(of_rows, lines);
        let mut panel = Upcoming::NONE;
        if let (&[_, next, ..], Some(Pack { from, rows, depth, .. })) = (cols, &self.unpacked)
            && self.plan.prefetches[1]
        {
            panel = Upcoming::panel(*from, rows, next.first..next.first + next.len, depth);
        }
        let next = if cols.len() == 1 { columns } else { &mut panel };
        next.list(most - of_rows, lines);
        let listed = next.is_listed();
        let complete = lines.len().next_multiple_of(LINES);
        let last = lines.last().copied().unwrap_or(std::ptr::null());
        lines.resize(complete, last);
        listed
    }

    /// Computes a group of row panels for one column panel, and prefetches their part of the list.
    ///
    /// # Safety
    /// Same as for [`GemmShare::product`]; the panels are panels of the product's boxes.
    unsafe fn tiles(&mut self, product: &mut Product<'_, T>, group: Group, col: Panel) {
        let plan = self.plan;
        let buffered = plan.out == OutAccess::Buffered;
        let [rows, cols] = product.boxes.map(|at| at.table);
        let Panels { panel: right_panel, across, .. } = product.right;
        // Copying the call would stall on the stores to its fields.
        let call = &mut product.call;
        call.rows = group.rows * T::PARTS;
        call.left = product.left.start.cast::<T::Real>().wrapping_offset(group.first as isize * call.left_next);
        call.right = product.right.at(col, cols).cast();
        // The first tile of a column panel prefetches the next one.
        let panel = if right_panel > 0 { right_panel } else { across.unsigned_abs() * col.len };
        call.next = call.right.wrapping_add(if group.first == 0 { panel * T::PARTS } else { 0 });
        let columns = &cols.offsets[1][col.first..col.first + col.len];
        call.columns = if buffered { self.columns[1].as_ptr() } else { columns.as_ptr() };
        call.out = product.out.cast();
        if buffered {
            call.out = call.out.wrapping_add(col.first * plan.buffer_rows() * T::PARTS);
        }
        if call.ahead == 0 {
            let end = product.lines.len().min(product.prefetched + group.count * lines_of_tile(call.depth));
            let lines = product.lines[product.prefetched..end].as_ptr_range();
            call.lines = [lines.start.cast(), lines.end.cast()];
            product.prefetched = end;
        }
        let tiles = plan.row_tiles(product.boxes[0].shape);
        let tile_offsets = &tiles.tile_offsets[group.first..group.first + group.count];
        // SAFETY: guaranteed by the caller; the register tile has room for a panel.
        unsafe {
            if group.layout != RowLayout::Scattered && self.multiply.compute_tiles(call, col.len, tile_offsets) {
                return;
            }
            let (left, out, columns_of_out) = (call.left, call.out, call.columns);
            for (at, tile_offset) in tile_offsets.iter().enumerate() {
                call.left = left.wrapping_offset(at as isize * call.left_next + tile_offset.left);
                call.out = out.wrapping_offset(tile_offset.out);
                if at > 0 {
                    call.next = call.right;
                    call.lines[0] = call.lines[0].wrapping_add(lines_of_tile(call.depth));
                }
                if buffered {
                    self.multiply.tile(call, col.len, plan.buffer_rows());
                } else if group.layout != RowLayout::Dense || !self.multiply.direct(call, col.len) {
                    let tile = self.buffers[3];
                    let panel_rows = plan.panel_rows();
                    (call.out, call.columns) = (tile.cast(), self.columns[0].as_ptr());
                    call.beta = T::ZERO.parts();
                    self.multiply.tile(call, col.len, panel_rows);
                    call.columns = columns_of_out;
                    call.beta = product.beta.parts();
                    let (first, beta, out) = (tiles.panels[group.first + at].first, product.beta, product.out);
                    let store = Store { tile, panel: panel_rows, out, rows, first, count: group.rows, columns, beta };
                    dispatch(self.isa, store);
                }
            }
        }
    }
}

impl<T> Panels<T> {
    fn at(&self, panel: Panel, table: &Table) -> *const T {
        if self.panel > 0 {
            self.start.wrapping_add(panel.number * self.panel)
        } else {
            self.start.wrapping_offset(table.offsets[0][panel.first])
        }
    }
}

fn following(mut at: [usize; 4], ranges: [&Range<usize>; 4]) -> Option<[usize; 4]> {
    for (i, range) in ranges.into_iter().enumerate() {
        at[i] += 1;
        if at[i] < range.end {
            return Some(at);
        }
        at[i] = range.start;
    }
    None
}

fn slab_at<T>(panels: Panels<T>, slab: isize) -> Panels<T> {
    Panels { start: panels.start.wrapping_offset(slab * panels.slab), ..panels }
}
