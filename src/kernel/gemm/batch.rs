//! Many small products of one size, read and written in place: everything that they have in common is set up once.

use super::super::Element;
use super::super::micro::{Call, Kernel};
use super::Arguments;
use super::multiply::Own;
use crate::local_plan::{Access, Axis, GemmPlan, OutAccess, RowLayout, Spot, Table};

/// Most register tiles of a product; for larger products the cost of starting one is negligible.
const MOST: usize = 24;
/// Most tiles of the products that are computed together, plus those of the product after them.
const SPOTS: usize = 64;
/// Most products whose tiles are computed with one call.
const TOGETHER: usize = 16;
/// Bytes of the products that stay in the first-level cache from one tile to the next, if products have several tiles.
const NEAR: usize = 24 << 10;

/// The register tile at one place in each product: the call for the first product, and the kernel.
#[derive(Clone, Copy)]
struct Tile<R> {
    call: Call<R>,
    kernel: Kernel<R>,
}

/// The register tiles of the products of a batch.
pub(super) struct Batch<T: Element> {
    tiles: [Option<Tile<T::Real>>; MOST],
    count: usize,
    /// The offsets of the tiles, of `together` products and the one after: those of the first tile, then those of the
    /// second, and so on.
    spots: [Spot; SPOTS],
    /// The number of products to compute together.
    pub together: usize,
}

impl<T: Element> Batch<T> {
    /// Returns `None` if products are not read and written in place, have more than one box or [`MOST`] tiles, or are
    /// fewer than 4, or if rows do not form vectors in out. `inner`: the strides from one product to the next.
    pub fn new(plan: &GemmPlan, own: &mut Own<T>, arguments: Arguments<T>, inner: [isize; 3]) -> Option<Self> {
        let in_place = plan.access == [Access::InPlace; 2] && plan.out == OutAccess::Direct && plan.slab.size == 1;
        let one_box = [&plan.rows, &plan.cols, &plan.depth].iter().all(|axis| axis.boxes() == 1);
        if !in_place || !one_box || plan.batches() < 4 {
            return None;
        }
        let [cols, depth] = [&plan.cols, &plan.depth].map(|axis| &axis.tables()[0]);
        let (tiles, col_panels) = (plan.row_tiles(0), plan.col_panels(0));
        let count = tiles.panels.len() * col_panels.len();
        if count == 0 || count > MOST || tiles.groups.iter().any(|g| g.lie == RowLayout::Scattered) {
            return None;
        }
        let [m, n, k] = [&plan.rows, &plan.cols, &plan.depth].map(Axis::longest);
        let bytes = (m * k + k * n + m * n) * size_of::<T>();
        let near = if count == 1 { TOGETHER } else { NEAR / bytes };
        let together = near.clamp(1, TOGETHER.min(SPOTS / count - 1));
        let mut batch = Batch { tiles: [None; MOST], count: 0, spots: [Spot::default(); SPOTS], together };
        let parts = T::PARTS as isize;
        let step = |table: &Table, tensor: usize| table.run(tensor, 0, 2).1 * parts;
        for col in col_panels {
            for (row, spot) in tiles.panels.iter().zip(&tiles.spots) {
                let call = Call {
                    depth: depth.len(),
                    left: arguments.operands[0].at(0).cast(),
                    left_step: step(depth, 0),
                    left_next: 0,
                    right: arguments.operands[1].at(cols.offsets[0][col.first]).cast(),
                    right_step: step(depth, 1),
                    right_column: step(cols, 0),
                    out: arguments.out.at(0).cast(),
                    columns: cols.offsets[1][col.first..col.first + col.len].as_ptr(),
                    rows: row.len * T::PARTS,
                    left_padded: false,
                    streams: false,
                    asks_for_out: false,
                    next: std::ptr::null(),
                    ahead: 0,
                    alpha: arguments.alpha.parts(),
                    beta: arguments.beta.parts(),
                };
                for product in 0..=together {
                    let [left, right, out] = inner.map(|stride| product as isize * stride * parts);
                    batch.spots[batch.count * (together + 1) + product] =
                        Spot { left: spot.left + left, right, out: spot.out + out, vectors: spot.vectors };
                }
                batch.tiles[batch.count] = Some(Tile { call, kernel: own.get(&call, col.len) });
                batch.count += 1;
            }
        }
        Some(batch)
    }

    /// Computes `count` products. The offsets lead from the first elements of the tensors to those of the first
    /// product.
    ///
    /// # Safety
    /// The offsets are those of one of the plan's products, and the other `count - 1` products follow it at the inner
    /// strides; `count` is at most [`Batch::together`].
    #[inline(always)]
    pub unsafe fn run(&mut self, [left, right, out]: [isize; 3], count: usize) {
        let parts = T::PARTS as isize;
        let spots = self.spots.chunks_exact(self.together + 1);
        for (tile, spots) in self.tiles[..self.count].iter().flatten().zip(spots) {
            let right = tile.call.right.wrapping_offset(right * parts);
            let call = Call {
                left: tile.call.left.wrapping_offset(left * parts),
                right,
                // Prefetches the next product's right operand.
                next: right.wrapping_offset(spots[1].right),
                out: tile.call.out.wrapping_offset(out * parts),
                ..tile.call
            };
            // SAFETY: the caller's promise, as the call for the first product is offset to the others; the plan
            // outlives the batch.
            unsafe { (tile.kernel)(&call, &spots[..count]) };
        }
    }
}
