//! Many small products of one size, read and written where they lie: what is the same for all is found out once.

use super::super::Element;
use super::super::micro::{Call, Kernel};
use super::Arguments;
use super::multiply::Own;
use crate::local::{Access, GemmPlan, OutAccess, Table};

/// Most register tiles of a product; larger products do not notice what it takes to start one.
const MOST: usize = 24;

/// One register tile of a product: the call for a product at offset 0, and the code.
#[derive(Clone, Copy)]
struct Tile<R> {
    call: Call<R>,
    kernel: Kernel<R>,
}

/// The register tiles of each product of a batch.
pub(super) struct Batch<T: Element> {
    tiles: [Option<Tile<T::Real>>; MOST],
    count: usize,
}

impl<T: Element> Batch<T> {
    /// None if products are not read and written in place, or are more than one box.
    pub fn new(plan: &GemmPlan, own: &mut Own<T>, arguments: Arguments<T>) -> Option<Self> {
        let in_place = plan.access == [Access::InPlace; 2] && plan.out == OutAccess::Direct && plan.slab.size == 1;
        let one_box = [&plan.rows, &plan.cols, &plan.depth].iter().all(|axis| axis.boxes() == 1);
        if !in_place || !one_box || plan.batches() < 4 {
            return None;
        }
        let [rows, cols, depth] = [&plan.rows, &plan.cols, &plan.depth].map(|axis| &axis.tables()[0]);
        let [row_panels, col_panels] = [0, 1].map(|side| plan.panels(side, 0));
        if row_panels.len() * col_panels.len() > MOST {
            return None;
        }
        let mut batch = Batch { tiles: [None; MOST], count: 0 };
        let parts = T::PARTS as isize;
        let step = |table: &Table, tensor: usize| table.run(tensor, 0, 2).1 * parts;
        for col in col_panels {
            for (row, place) in row_panels.iter().zip(plan.places(0)) {
                let vectors = (*place)?.vectors;
                let call = Call {
                    depth: depth.len(),
                    left: arguments.operands[0].at(rows.offsets[0][row.first]).cast(),
                    left_step: step(depth, 0),
                    right: arguments.operands[1].at(cols.offsets[0][col.first]).cast(),
                    right_step: step(depth, 1),
                    right_column: step(cols, 0),
                    out: arguments.out.at(rows.offsets[1][row.first]).cast(),
                    vectors: vectors.map(|offset| offset * parts),
                    columns: cols.offsets[1][col.first..col.first + col.len].as_ptr(),
                    rows: row.len * T::PARTS,
                    left_padded: false,
                    streams: false,
                    next: std::ptr::null(),
                    ahead: 0,
                    alpha: arguments.alpha.parts(),
                    beta: arguments.beta.parts(),
                };
                batch.tiles[batch.count] = Some(Tile { call, kernel: own.get(&call, col.len) });
                batch.count += 1;
            }
        }
        Some(batch)
    }

    /// The product at so many elements from the first.
    ///
    /// # Safety
    /// The offsets are those of a product of the batch that the plan has.
    #[inline(always)]
    pub unsafe fn run(&mut self, [left, right, out]: [isize; 3]) {
        let parts = T::PARTS as isize;
        for tile in self.tiles[..self.count].iter().flatten() {
            let call = Call {
                left: tile.call.left.wrapping_offset(left * parts),
                right: tile.call.right.wrapping_offset(right * parts),
                out: tile.call.out.wrapping_offset(out * parts),
                ..tile.call
            };
            // SAFETY: the caller's promise, for the first product moved to another; the plan outlives the batch.
            unsafe { (tile.kernel)(&call) };
        }
    }
}
