//! Merges a register tile from a buffer into `out`, where its rows usually form no vectors.

use super::super::Element;
use super::super::simd::{Body, Both};
use super::contiguous::add_run;
use crate::local_plan::Table;

/// Columns are `panel` elements apart.
pub(super) struct Store<'a, T> {
    pub tile: *const T,
    pub panel: usize,
    /// The start of the box.
    pub out: *mut T,
    pub rows: &'a Table,
    /// The tile's first row in `rows`.
    pub first: usize,
    pub count: usize,
    /// Offsets in `out`.
    pub columns: &'a [isize],
    pub beta: T,
}

impl<T: Element> Body for Store<'_, T> {
    type Output = ();

    /// # Safety
    /// The tile may be read; its rows and columns in `out` may be written, and are initialised unless `beta` is 0.
    #[inline(always)]
    unsafe fn run<S: Both>(self) {
        let mut row = 0;
        while row < self.count {
            let (len, stride) = self.rows.run(1, self.first + row, self.count - row);
            let to = self.out.wrapping_offset(self.rows.offsets[1][self.first + row]);
            for (column, &offset) in self.columns.iter().enumerate() {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let tile = self.tile.add(column * self.panel + row);
                    let to = to.wrapping_offset(offset);
                    if stride == 1 && len > 1 {
                        add_run::<S, T>(tile, self.beta, to, len);
                        continue;
                    }
                    for i in 0..len {
                        let to = to.wrapping_offset(i as isize * stride);
                        let value = *tile.add(i);
                        *to = if self.beta == T::ZERO { value } else { (*to).scaled(self.beta) + value };
                    }
                }
            }
            row += len;
        }
    }
}
