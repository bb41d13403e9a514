//! Copies a block between a tensor and columns in the workspace, one for each short index.
//!
//! Adjacent lanes are transposed in registers ([`super::pick`]), others in square tiles.

use super::super::simd::{Simd, Size, prefetch, transpose_squares};
use super::pick;
use crate::local_plan::{CACHE_LINE, Columns, Run};

const WORDS_PER_LINE: usize = CACHE_LINE / 4;
/// The prefetch distance of square tiles in words.
const AHEAD: usize = 1024;

/// Copies `lanes` lanes from a tensor to columns, or back if `JOINS`.
///
/// # Safety
/// The processor must support the instruction set `S`. The elements must be readable at `from` and writable at `to`, and
/// do not overlap.
#[inline(always)]
pub(super) unsafe fn copy<S: Simd<f32>, T, const JOINS: bool>(
    columns: &Columns,
    from: *const T,
    to: *mut T,
    lanes: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match size_of::<T>() {
            4 => Copy::<1, JOINS> { columns, lanes }.runs::<S>(from.cast(), to.cast()),
            8 => Copy::<2, JOINS> { columns, lanes }.runs::<S>(from.cast(), to.cast()),
            _ => Copy::<4, JOINS> { columns, lanes }.runs::<S>(from.cast(), to.cast()),
        }
    }
}

/// Elements have `P` words of 4 bytes.
struct Copy<'a, const P: usize, const JOINS: bool> {
    columns: &'a Columns,
    lanes: usize,
}

impl<const P: usize, const JOINS: bool> Copy<'_, P, JOINS> {
    /// # Safety
    /// Same as for [`copy`].
    #[inline(always)]
    unsafe fn runs<S: Simd<f32>>(&self, from: *const f32, to: *mut f32) {
        let words = P as isize;
        let lead = self.columns.lead as isize * words;
        for run in &self.columns.runs {
            let (at, column) = (run.offset * words, run.column as isize * lead);
            let [at_from, at_to] = if JOINS { [column, at] } else { [at, column] };
            // SAFETY: guaranteed by the caller.
            unsafe { self.run::<S>(run, from.wrapping_offset(at_from), to.wrapping_offset(at_to)) }
        }
    }

    /// # Safety
    /// As above, for one run.
    #[inline(always)]
    unsafe fn run<S: Simd<f32>>(&self, run: &Run, from: *const f32, to: *mut f32) {
        let Columns { stride, lead, .. } = *self.columns;
        let is_adjacent = stride == run.len as isize;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let picks = is_adjacent && !S::PORTABLE && run.len <= S::LANES;
            let done = if picks { self.adjacent::<S>(run.len, from, to) } else { 0 };
            let (lead, side) = (lead as isize, S::LANES / P);
            let mut lane = done;
            while lane < self.lanes {
                let (lanes, first) = (side.min(self.lanes - lane), lane as isize * P as isize);
                if JOINS {
                    let (from, to) = (from.wrapping_offset(first), to.wrapping_offset(first * stride));
                    let size = Size { rows: run.len, cols: lanes };
                    transpose_squares::<S, f32, P>(from, lead, to, stride, size);
                } else {
                    let (from, to) = (from.wrapping_offset(first * stride), to.wrapping_offset(first));
                    if is_adjacent {
                        let next = from.wrapping_add(AHEAD);
                        (0..lanes * run.len * P).step_by(WORDS_PER_LINE).for_each(|at| prefetch(next.wrapping_add(at)));
                    }
                    let size = Size { rows: lanes, cols: run.len };
                    transpose_squares::<S, f32, P>(from, stride, to, lead, size);
                }
                lane += lanes;
            }
        }
    }

    /// Returns the number of lanes copied, which fill vectors; 0 if tiles are better for so many columns.
    ///
    /// # Safety
    /// As above, for lanes that are adjacent.
    #[inline(always)]
    unsafe fn adjacent<S: Simd<f32>>(&self, columns: usize, from: *const f32, to: *mut f32) -> usize {
        let (lead, lanes) = ((self.columns.lead * P) as isize, self.lanes);
        macro_rules! counts {
            ($($count:literal = $odd:literal << $levels:literal),*) => {
                match columns {
                    $($count if JOINS => pick::join::<S, $levels, $odd, P>(from, to, lead, lanes),
                    $count => pick::split::<S, $levels, $odd, P>(from, to, lead, lanes),)*
                    _ => 0,
                }
            };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            counts!(
                2 = 1 << 1,
                3 = 3 << 0,
                4 = 1 << 2,
                5 = 5 << 0,
                6 = 3 << 1,
                7 = 7 << 0,
                8 = 1 << 3,
                9 = 9 << 0,
                10 = 5 << 1,
                12 = 3 << 2,
                14 = 7 << 1,
                16 = 1 << 4
            )
        }
    }
}
