//! Computes tiles of dot products, whose terms have stride 1 in both operands.
//!
//! Border tiles repeat the last row or column, and discard duplicates.

use super::Task;
use super::lanes::Lanes;
use super::update::Visit;
use super::walk::Walk;
use crate::kernel::simd::prefetch;
use crate::local_plan::Dots;

/// Vectors added before new sums start.
const CHAIN: usize = 64;
/// Maximum vectors of terms in short rows, whose lanes are added up together.
const MAX_SHORT: usize = 8;
/// The prefetch distance of short rows in bytes.
const AHEAD: usize = 4096;

/// # Safety
/// Same as for [`super::run`], with the loops of one thread's share.
#[inline(always)]
pub(super) unsafe fn run<S, T: Lanes<S>>(task: &Task<T, Dots>) {
    let dots = task.nest;
    let (rows, cols) = (dots.rows.extent, dots.cols.extent);
    let paired = dots.rows.strides[1] != 0;
    let complex = T::DTYPE.is_complex();
    let is_short = dots.sum.is_empty() && dots.lanes.extent <= MAX_SHORT * T::LANES;
    let short = is_short && cols == 1 && rows > 4 && T::LANES >= 4 && !complex && !T::PORTABLE;
    let (mut outer, mut sum) = (Walk::new(), Walk::new());
    loop {
        for lane in (0..dots.lanes.extent).step_by(dots.chunk) {
            let mut row = 0;
            while row < rows {
                // A complex sum needs two registers.
                let height = match (rows - row, cols) {
                    (1, 1) => 1,
                    (_, 1) if short => T::LANES,
                    (_, 1) => 4,
                    (3.., 3..) if !complex => 4,
                    _ => 2,
                };
                let mut col = 0;
                while col < cols {
                    let width = match cols - col {
                        1 => 1,
                        3.. if height == 4 || complex => 3,
                        _ => 2,
                    };
                    let [x, y, o] = outer.at();
                    let tile = Tile {
                        task,
                        visit: Visit::new(task.factors, lane == 0),
                        rows: (rows - row).min(height),
                        cols: (cols - col).min(width),
                        lanes: dots.chunk.min(dots.lanes.extent - lane),
                        first: task.first.wrapping_offset(x + lane as isize + row as isize * dots.rows.strides[0]),
                        second: task.second.wrapping_offset(
                            y + lane as isize
                                + row as isize * dots.rows.strides[1]
                                + col as isize * dots.cols.strides[1],
                        ),
                        out: task.out.wrapping_offset(
                            o + row as isize * dots.rows.strides[2] + col as isize * dots.cols.strides[2],
                        ),
                    };
                    // SAFETY: guaranteed by the caller.
                    unsafe {
                        if short && height > 1 {
                            tile.short::<S>();
                        } else
                        // Only the real or the complex tiles are compiled.
                        if const { T::DTYPE.is_complex() } {
                            match (height, width) {
                                (1, _) => tile.run::<S, 1, 1, 4, false>(&mut sum),
                                (4, _) if paired => tile.run::<S, 4, 1, 1, true>(&mut sum),
                                (4, _) => tile.run::<S, 4, 1, 1, false>(&mut sum),
                                (_, 3) => tile.run::<S, 2, 3, 1, false>(&mut sum),
                                (_, _) => tile.run::<S, 2, 2, 1, false>(&mut sum),
                            }
                        } else {
                            match (height, width) {
                                (1, _) => tile.run::<S, 1, 1, 8, false>(&mut sum),
                                (4, 1) if paired => tile.run::<S, 4, 1, 1, true>(&mut sum),
                                (4, 1) => tile.run::<S, 4, 1, 2, false>(&mut sum),
                                (4, _) => tile.run::<S, 4, 3, 1, false>(&mut sum),
                                (_, _) => tile.run::<S, 2, 2, 2, false>(&mut sum),
                            }
                        }
                    }
                    col += width;
                }
                row += height;
            }
        }
        if !outer.next(&dots.outer) {
            return;
        }
    }
}

struct Tile<'a, T> {
    task: &'a Task<'a, T, Dots>,
    visit: Visit<T>,
    rows: usize,
    cols: usize,
    lanes: usize,
    first: *const T,
    second: *const T,
    out: *mut T,
}

impl<T> Tile<'_, T> {
    /// Computes rows of one column, at most as many as a vector has elements.
    ///
    /// # Safety
    /// Same as for [`run`].
    #[inline(always)]
    unsafe fn short<S>(&self)
    where
        T: Lanes<S>,
    {
        let [next, next_pair, next_out] = self.task.nest.rows.strides;
        // SAFETY: guaranteed by the caller; a vector has at most 16 elements.
        unsafe {
            let mut sums = [T::none(); 16];
            for (row, sum) in sums.iter_mut().enumerate().take(self.rows) {
                let first = self.first.wrapping_offset(row as isize * next);
                let second = self.second.wrapping_offset(row as isize * next_pair);
                let whole = self.lanes / T::LANES * T::LANES;
                prefetch(first.wrapping_byte_add(AHEAD));
                prefetch(second.wrapping_byte_add(AHEAD));
                for lane in (0..whole).step_by(T::LANES) {
                    let factor = T::across(T::load(second.wrapping_add(lane)));
                    *sum = T::plus_times(factor, T::load(first.wrapping_add(lane)), *sum);
                }
                if whole < self.lanes {
                    let count = self.lanes - whole;
                    let factor = T::across(T::load_first(second.wrapping_add(whole), count));
                    *sum = T::plus_times(factor, T::load_first(first.wrapping_add(whole), count), *sum);
                }
            }
            let totals = T::totals(sums, self.task.factors.conjugated);
            if self.visit.only_writes() && next_out == 1 {
                T::store_first(self.out, totals, self.rows);
                return;
            }
            let mut lanes = [T::ZERO; 16];
            T::store(lanes.as_mut_ptr(), totals);
            for (row, &total) in lanes.iter().enumerate().take(self.rows) {
                self.visit.one(self.out.wrapping_offset(row as isize * next_out), total);
            }
        }
    }

    /// Up to `R` rows and `C` columns, with `U` vectors of sums for each element. If `PAIRED`, each row of the only
    /// column has its own elements of the second operand.
    ///
    /// # Safety
    /// Same as for [`run`].
    #[expect(clippy::needless_range_loop, reason = "constant indices keep the sums in registers")]
    #[inline(always)]
    unsafe fn run<S, const R: usize, const C: usize, const U: usize, const PAIRED: bool>(&self, sum: &mut Walk<3>)
    where
        T: Lanes<S>,
    {
        let dots = self.task.nest;
        // SAFETY: guaranteed by the caller; lanes, rows and columns are inside the tile.
        unsafe {
            let mut sums = [[[T::none(); U]; C]; R];
            let (mut ended, mut added) = ([[T::none(); C]; R], 0);
            loop {
                let [x, y, _] = sum.at();
                let (first, second) = (self.first.wrapping_offset(x), self.second.wrapping_offset(y));
                let firsts = starts::<T, R>(first, self.rows, dots.rows.strides[0]);
                let seconds = starts::<T, C>(second, self.cols, dots.cols.strides[1]);
                let pairs = starts::<T, R>(second, self.rows, dots.rows.strides[1]);
                let mut lane = 0;
                while lane < self.lanes {
                    let end = self.lanes.min(lane + (CHAIN - added) * U * T::LANES);
                    while lane + U * T::LANES <= end {
                        for u in 0..U {
                            let at = lane + u * T::LANES;
                            let mut factors = [T::splat(T::ZERO); C];
                            for (factor, from) in factors.iter_mut().zip(seconds) {
                                *factor = T::across(T::load(from.add(at)));
                            }
                            for row in 0..R {
                                let vector = T::load(firsts[row].add(at));
                                for col in 0..C {
                                    let factor =
                                        if PAIRED { T::across(T::load(pairs[row].add(at))) } else { factors[col] };
                                    sums[row][col][u] = T::plus_times(factor, vector, sums[row][col][u]);
                                }
                            }
                        }
                        lane += U * T::LANES;
                        added += 1;
                    }
                    while lane < end {
                        let count = T::LANES.min(end - lane);
                        for row in 0..R {
                            let vector = T::load_first(firsts[row].add(lane), count);
                            for col in 0..C {
                                let from = if PAIRED { pairs[row] } else { seconds[col] };
                                let factor = T::across(T::load_first(from.add(lane), count));
                                sums[row][col][0] = T::plus_times(factor, vector, sums[row][col][0]);
                            }
                        }
                        lane += count;
                        added += 1;
                    }
                    if added >= CHAIN {
                        for row in 0..R {
                            for col in 0..C {
                                ended[row][col] = T::merge(ended[row][col], merged::<S, T, U>(&sums[row][col]));
                                sums[row][col] = [T::none(); U];
                            }
                        }
                        added = 0;
                    }
                }
                if !sum.next(&dots.sum) {
                    break;
                }
            }
            for (row, sums) in sums.iter().enumerate().take(self.rows) {
                for (col, parts) in sums.iter().enumerate().take(self.cols) {
                    let sum = T::merge(ended[row][col], merged::<S, T, U>(parts));
                    let at = row as isize * dots.rows.strides[2] + col as isize * dots.cols.strides[2];
                    self.visit.one(self.out.wrapping_offset(at), T::total(sum, self.task.factors.conjugated));
                }
            }
        }
    }
}

/// Returns pointers to `N` rows or columns; the last is repeated.
#[inline(always)]
fn starts<T, const N: usize>(start: *const T, count: usize, stride: isize) -> [*const T; N] {
    let mut starts = [start; N];
    for (index, at) in starts.iter_mut().enumerate() {
        *at = start.wrapping_offset(index.min(count - 1) as isize * stride);
    }
    starts
}

/// # Safety
/// The processor must support the instruction set `S`.
#[inline(always)]
unsafe fn merged<S, T: Lanes<S>, const U: usize>(parts: &[T::Sum; U]) -> T::Sum {
    let mut sum = parts[0];
    for part in &parts[1..] {
        // SAFETY: guaranteed by the caller.
        sum = unsafe { T::merge(sum, *part) };
    }
    sum
}
