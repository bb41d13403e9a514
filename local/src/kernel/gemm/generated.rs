//! Computes register tiles with LIBXSMM (column-major matrices).
//!
//! Plain loops compute tiles that LIBXSMM lacks.

use super::super::Element;
use super::super::micro::Call;
use super::super::xsmm::Tile;

/// The sizes of a product, its three leading dimensions, and whether `right` is row-major.
type Shape = ([usize; 3], [usize; 3], bool);

/// `None` if LIBXSMM does not support the shape.
type CachedTile<R> = (Shape, Option<Tile<R>>);

pub(super) struct Generated<T: Element> {
    packed: bool,
    cached: [Option<CachedTile<T::Real>>; 4],
    next: usize,
}

impl<T: Element> Generated<T> {
    pub fn new(packed: bool) -> Self {
        Generated { packed, cached: [None; 4], next: 0 }
    }

    /// `lead` is the distance between columns of `out`, in elements.
    #[inline(always)]
    fn get(&mut self, call: &Call<T::Real>, columns: usize, lead: usize) -> Option<Tile<T::Real>> {
        let column = if self.packed { 1 } else { call.right_column };
        // `right` is column-major if columns are contiguous, and row-major if rows are.
        let (by_rows, right) = if call.right_step == 1 && !self.packed {
            (false, if columns == 1 { call.depth as isize } else { column })
        } else if column == 1 || columns == 1 {
            (true, if call.depth == 1 { columns as isize } else { call.right_step })
        } else {
            return None;
        };
        let left = if call.depth == 1 { call.rows as isize } else { call.left_step };
        let (left, right) = (usize::try_from(left).ok()?, usize::try_from(right).ok()?);
        let shape: Shape = ([call.rows, columns, call.depth], [left, right, lead], by_rows);
        for (cached, tile) in self.cached.iter().flatten() {
            if *cached == shape {
                return *tile;
            }
        }
        let tile = Tile::get(shape.0, shape.1, by_rows);
        self.cached[self.next] = Some((shape, tile));
        self.next = (self.next + 1) % self.cached.len();
        tile
    }

    /// Returns false if LIBXSMM does not support the factors or strides.
    ///
    /// # Safety
    /// Same as for [`Call`], with `columns` columns and contiguous vectors.
    pub unsafe fn direct(&mut self, call: &Call<T::Real>, columns: usize) -> bool {
        if call.alpha[0] != T::ONE.parts()[0] || call.beta[0] != T::ZERO.parts()[0] {
            return false;
        }
        // SAFETY: the caller guarantees that `call.columns` points to one offset per column.
        let offsets = unsafe { std::slice::from_raw_parts(call.columns, columns) };
        let lead = if columns > 1 { offsets[1] - offsets[0] } else { call.rows as isize };
        let even = offsets.windows(2).all(|pair| pair[1] - pair[0] == lead);
        let Ok(lead) = usize::try_from(lead) else { return false };
        if !even {
            return false;
        }
        let Some(tile) = self.get(call, columns, lead) else { return false };
        // SAFETY: guaranteed by the caller; the code is for these sizes and strides.
        unsafe { tile.call(call.left, call.right, call.out.offset(offsets[0])) };
        true
    }

    /// # Safety
    /// Same as for [`Call`], with `columns` columns and `beta` = 0.
    pub unsafe fn tile(&mut self, call: &Call<T::Real>, columns: usize, lead: usize) {
        let out = call.out;
        let alpha = call.alpha[0];
        // SAFETY: guaranteed by the caller.
        unsafe {
            if let Some(tile) = self.get(call, columns, lead) {
                tile.call(call.left, call.right, out);
                if alpha == T::ONE.parts()[0] {
                    return;
                }
                for column in 0..columns {
                    for row in 0..call.rows {
                        *out.add(column * lead + row) *= alpha;
                    }
                }
                return;
            }
            let across = if self.packed { 1 } else { call.right_column };
            for column in 0..columns {
                for row in 0..call.rows {
                    let mut sum = T::ZERO.parts()[0];
                    for step in 0..call.depth as isize {
                        let left = *call.left.wrapping_offset(step * call.left_step).add(row);
                        sum += left * *call.right.wrapping_offset(step * call.right_step + column as isize * across);
                    }
                    *out.add(column * lead + row) = alpha * sum;
                }
            }
        }
    }
}
