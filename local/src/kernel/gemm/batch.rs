//! Computes many small products of equal size in place, with micro-kernel calls that are prepared once.

use super::super::Element;
use super::super::micro::{Call, Kernel};
use super::Arguments;
use super::multiply::Own;
use crate::local_plan::{Access, Axis, GemmPlan, OutAccess, RowLayout, Table, TileOffsets};

/// Maximum register tiles in a product; others have negligible start-up cost.
const MAX_TILES: usize = 24;
/// Maximum tiles in the products of one call and the next product, which is prefetched.
const MAX_TILE_OFFSETS: usize = 64;
const MAX_PRODUCTS_PER_CALL: usize = 16;
/// Maximum bytes in the tensors of one call if a product has several tiles.
const L1_PRODUCT_BYTES: usize = 24 << 10;

/// The arguments are those of the first product.
#[derive(Clone, Copy)]
struct Tile<R> {
    call: Call<R>,
    kernel: Kernel<R>,
}

pub(super) struct Batch<T: Element> {
    tiles: [Option<Tile<T::Real>>; MAX_TILES],
    count: usize,
    /// For each tile, `products_per_call` offsets, and one for the next product.
    tile_offsets: [TileOffsets; MAX_TILE_OFFSETS],
    pub products_per_call: usize,
}

impl<T: Element> Batch<T> {
    /// `inner` has the stride between products in each tensor. `None` unless there are at least 4 products in place,
    /// each with one box, at most [`MAX_TILES`] tiles, and tile rows that form vectors in `out`.
    pub fn new(plan: &GemmPlan, own: &mut Own<T>, arguments: Arguments<T>, inner: [isize; 3]) -> Option<Self> {
        let in_place = plan.access == [Access::InPlace; 2] && plan.out == OutAccess::Direct && plan.slab.size == 1;
        let one_box = [&plan.rows, &plan.cols, &plan.depth].iter().all(|axis| axis.boxes() == 1);
        if !in_place || !one_box || plan.batches() < 4 {
            return None;
        }
        let [cols, depth] = [&plan.cols, &plan.depth].map(|axis| &axis.tables()[0]);
        let (tiles, col_panels) = (plan.row_tiles(0), plan.col_panels(0));
        let count = tiles.panels.len() * col_panels.len();
        if count == 0 || count > MAX_TILES || tiles.groups.iter().any(|g| g.layout == RowLayout::Scattered) {
            return None;
        }
        let [m, n, k] = [&plan.rows, &plan.cols, &plan.depth].map(Axis::longest);
        let bytes = (m * k + k * n + m * n) * size_of::<T>();
        let in_cache = if count == 1 { MAX_PRODUCTS_PER_CALL } else { L1_PRODUCT_BYTES / bytes };
        let products_per_call = in_cache.clamp(1, MAX_PRODUCTS_PER_CALL.min(MAX_TILE_OFFSETS / count - 1));
        let mut batch = Batch {
            tiles: [None; MAX_TILES],
            count: 0,
            tile_offsets: [TileOffsets::default(); MAX_TILE_OFFSETS],
            products_per_call,
        };
        let parts = T::PARTS as isize;
        let step = |table: &Table, tensor: usize| table.run(tensor, 0, 2).1 * parts;
        for col in col_panels {
            for (row, tile_offset) in tiles.panels.iter().zip(&tiles.tile_offsets) {
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
                    prefetches_out: false,
                    next: std::ptr::null(),
                    ahead: 0,
                    lines: [std::ptr::null(); 2],
                    alpha: arguments.alpha.parts(),
                    beta: arguments.beta.parts(),
                    conjugated: arguments.conjugated,
                };
                for product in 0..=products_per_call {
                    let [left, right, out] = inner.map(|stride| product as isize * stride * parts);
                    batch.tile_offsets[batch.count * (products_per_call + 1) + product] = TileOffsets {
                        left: tile_offset.left + left,
                        right,
                        out: tile_offset.out + out,
                        vectors: tile_offset.vectors,
                    };
                }
                batch.tiles[batch.count] = Some(Tile { call, kernel: own.get(&call, col.len) });
                batch.count += 1;
            }
        }
        Some(batch)
    }

    /// Computes `count` products, the first at these offsets from the first elements of the tensors.
    ///
    /// # Safety
    /// The offsets are those of a product of the plan, and the next `count - 1` products follow it at the strides
    /// `inner` passed to [`Batch::new`]; `count` is at most [`Batch::products_per_call`].
    #[inline(always)]
    pub unsafe fn run(&mut self, [left, right, out]: [isize; 3], count: usize) {
        let parts = T::PARTS as isize;
        let tile_offsets = self.tile_offsets.chunks_exact(self.products_per_call + 1);
        for (tile, tile_offsets) in self.tiles[..self.count].iter().flatten().zip(tile_offsets) {
            let right = tile.call.right.wrapping_offset(right * parts);
            let call = Call {
                left: tile.call.left.wrapping_offset(left * parts),
                right,
                next: right.wrapping_offset(tile_offsets[1].right),
                out: tile.call.out.wrapping_offset(out * parts),
                ..tile.call
            };
            // SAFETY: the caller guarantees access to `count` products, to which the offsets lead. The plan outlives
            // the batch.
            unsafe { (tile.kernel)(&call, &tile_offsets[..count]) };
        }
    }
}
