//! Computes sums of vectors times scalars or other vectors. The innermost loop runs over lanes (elements of `out` with
//! stride 1).

use super::Task;
use super::buffer::Buffer;
use super::lanes::Lanes;
use super::update::{Factors, Old, Visit};
use super::walk::Walk;
use crate::dtype::Dtype;
use crate::kernel::Element;
use crate::kernel::simd::fence;
use crate::local_plan::{Dim, Line};

/// Maximum terms per addition to `out` for a single row.
const TERMS: usize = 8;

const fn tile_terms(dtype: Dtype) -> usize {
    // Factors stay in registers; complex ones need two.
    4 / if dtype.is_complex() { 2 } else { 1 }
}

/// Whether rows that share the first operand's vectors are computed together. With one term, writing `out` row by row
/// is fastest.
#[inline(always)]
fn shares(line: &Line) -> bool {
    line.rows.strides[0] == 0 && line.terms.extent > 1
}

pub(super) fn revisits(line: &Line, dtype: Dtype) -> bool {
    let max_terms = if shares(line) { tile_terms(dtype) } else { TERMS };
    !(line.sum.is_empty() && line.terms.extent <= max_terms && line.terms.extent.is_power_of_two())
}

/// # Safety
/// Same as for [`super::run`], with the loops of one thread's share.
#[inline(always)]
pub(super) unsafe fn run<S, T: Lanes<S>>(task: &Task<T, Line>) {
    let line = task.nest;
    let each = line.lanes.strides[1] != 0;
    let streams = line.streams && Visit::new(task.factors, true).old == Old::Dropped;
    let (chunk, row_block) = match task.buffer {
        None => (line.chunk, line.row_block),
        Some(_) => {
            let chunk = line.chunk.min(Buffer::elements::<T>());
            (chunk, line.row_block.min(Buffer::elements::<T>() / chunk))
        }
    };
    let (mut outer, mut sum) = (Walk::new(), Walk::new());
    loop {
        for row in (0..line.rows.extent).step_by(row_block) {
            for lane in (0..line.lanes.extent).step_by(chunk) {
                let at = |t: usize| {
                    outer.at()[t] + row as isize * line.rows.strides[t] + lane as isize * line.lanes.strides[t]
                };
                let (rows, lanes) = (row_block.min(line.rows.extent - row), chunk.min(line.lanes.extent - lane));
                let (first, second) = (task.first.wrapping_offset(at(0)), task.second.wrapping_offset(at(1)));
                let out = Rows { start: task.out.wrapping_offset(at(2)), stride: line.rows.strides[2] };
                let (sums, factors) = match task.buffer {
                    None => (out, task.factors),
                    Some(start) => (Rows { start, stride: lanes as isize }, Factors::sum(task.factors.conjugated)),
                };
                let block = Block { line, factors, rows, lanes, first, second, out: sums };
                // SAFETY: guaranteed by the caller; `EACH` is true if the second operand's stride along the lanes is
                // not 0.
                unsafe {
                    match (each, streams) {
                        (false, false) => block.run::<S, false, false>(&mut sum),
                        (false, true) => block.run::<S, false, true>(&mut sum),
                        (true, false) => block.run::<S, true, false>(&mut sum),
                        (true, true) => block.run::<S, true, true>(&mut sum),
                    }
                    if task.buffer.is_some() {
                        add(Visit::new(task.factors, true), [rows, lanes], sums, out);
                    }
                }
            }
        }
        if !outer.next(&line.outer) {
            break;
        }
    }
    if streams {
        fence();
    }
}

#[inline(never)]
fn separately(code: impl FnOnce()) {
    code();
}

#[derive(Debug, Clone, Copy)]
struct Rows<T> {
    start: *mut T,
    stride: isize,
}

impl<T> Rows<T> {
    #[inline(always)]
    fn at(&self, row: usize) -> *mut T {
        self.start.wrapping_offset(row as isize * self.stride)
    }
}

/// # Safety
/// The sums may be read, and the elements of `out` may be read and written.
#[inline(always)]
unsafe fn add<T: Element>(visit: Visit<T>, [rows, lanes]: [usize; 2], sums: Rows<T>, out: Rows<T>) {
    for row in 0..rows {
        let (from, to) = (sums.at(row), out.at(row));
        // SAFETY: guaranteed by the caller.
        (0..lanes).for_each(|lane| unsafe { visit.one(to.add(lane), *from.add(lane)) });
    }
}

struct Block<'a, T> {
    line: &'a Line,
    factors: Factors<T>,
    rows: usize,
    lanes: usize,
    first: *const T,
    second: *const T,
    out: Rows<T>,
}

impl<T> Block<'_, T> {
    /// # Safety
    /// Same as for [`run`].
    #[inline(always)]
    unsafe fn run<S, const EACH: bool, const STREAMS: bool>(&self, sum: &mut Walk<3>)
    where
        T: Lanes<S>,
    {
        let line = self.line;
        let tiled = !EACH && !STREAMS && self.rows >= 4 && shares(line);
        let max_terms = if tiled { tile_terms(T::DTYPE) } else { TERMS };
        let mut first = true;
        loop {
            let mut term = 0;
            while term < line.terms.extent {
                let left = line.terms.extent - term;
                let visit = Visit::new(self.factors, first);
                let from = [0, 1].map(|t| sum.at()[t] + term as isize * line.terms.strides[t]);
                // SAFETY: guaranteed by the caller; at least this many terms remain.
                unsafe {
                    match left.min(max_terms) {
                        8.. => self.visit_terms::<S, 8, EACH, STREAMS>(visit, from, tiled),
                        4.. => self.visit_terms::<S, 4, EACH, STREAMS>(visit, from, tiled),
                        2.. => self.visit_terms::<S, 2, EACH, STREAMS>(visit, from, tiled),
                        _ => self.visit_terms::<S, 1, EACH, STREAMS>(visit, from, tiled),
                    }
                }
                term += match left.min(max_terms) {
                    8.. => 8,
                    4.. => 4,
                    2.. => 2,
                    _ => 1,
                };
                first = false;
            }
            if !sum.next(&line.sum) {
                return;
            }
        }
    }

    /// Calls [`Block::terms`]; one function for all numbers of terms would compile very slowly.
    ///
    /// # Safety
    /// Same as for [`run`].
    #[inline(always)]
    unsafe fn visit_terms<S, const P: usize, const EACH: bool, const STREAMS: bool>(
        &self,
        visit: Visit<T>,
        at: [isize; 2],
        tiled: bool,
    ) where
        T: Lanes<S>,
    {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if const { T::PORTABLE } {
                separately(|| self.terms::<S, P, EACH, STREAMS>(visit, at, tiled));
            } else {
                self.terms::<S, P, EACH, STREAMS>(visit, at, tiled);
            }
        }
    }

    /// # Safety
    /// Same as for [`run`].
    #[inline(always)]
    unsafe fn terms<S, const P: usize, const EACH: bool, const STREAMS: bool>(
        &self,
        visit: Visit<T>,
        at: [isize; 2],
        tiled: bool,
    ) where
        T: Lanes<S>,
    {
        let strides = self.line.rows.strides;
        let row_at = |row: usize| -> (*const T, *const T, *mut T) {
            let at = |t: usize| at[t] + row as isize * strides[t];
            (self.first.wrapping_offset(at(0)), self.second.wrapping_offset(at(1)), self.out.at(row))
        };
        let mut row = 0;
        // SAFETY: guaranteed by the caller.
        unsafe {
            // Combinations that never occur are not compiled.
            if const { P <= 4 && !EACH && !STREAMS } {
                while tiled && row + 4 <= self.rows {
                    self.lines::<S, 4, P, EACH, STREAMS>(visit, row_at(row));
                    row += 4;
                }
            }
            while row < self.rows {
                self.lines::<S, 1, P, EACH, STREAMS>(visit, row_at(row));
                row += 1;
            }
        }
    }

    /// # Safety
    /// Same as for [`run`].
    #[inline(always)]
    unsafe fn lines<S, const R: usize, const P: usize, const EACH: bool, const STREAMS: bool>(
        &self,
        visit: Visit<T>,
        (first, second, out): (*const T, *const T, *mut T),
    ) where
        T: Lanes<S>,
    {
        let line = self.line;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let lines = Lines::<S, T, R, P, EACH> {
                factors: factors::<S, T, R, P, EACH>(second, line),
                first,
                second,
                out: Rows { start: out, stride: self.out.stride },
                terms: line.terms,
            };
            let vectors = visit.vectors::<S>();
            let mut lane = 0;
            if const { STREAMS && R == 1 } {
                // Elements before the first aligned address come first.
                let bytes = T::LANES * size_of::<T>();
                let ahead = (bytes - out as usize % bytes) % bytes / size_of::<T>();
                if (out as usize).is_multiple_of(size_of::<T>()) && ahead < self.lanes {
                    if ahead > 0 {
                        vectors.first(out, lines.sum(0, Some(ahead))[0], ahead);
                    }
                    lane = ahead;
                    while lane + T::LANES <= self.lanes {
                        vectors.stream(out.add(lane), lines.sum(lane, None)[0]);
                        lane += T::LANES;
                    }
                }
            }
            while lane + T::LANES <= self.lanes {
                let sums = lines.sum(lane, None);
                for (row, &sum) in sums.iter().enumerate() {
                    vectors.full(lines.out_at(row, lane), sum);
                }
                lane += T::LANES;
            }
            if lane < self.lanes {
                let count = self.lanes - lane;
                let sums = lines.sum(lane, Some(count));
                for (row, &sum) in sums.iter().enumerate() {
                    vectors.first(lines.out_at(row, lane), sum, count);
                }
            }
        }
    }
}

/// `R` rows with `P` terms. `factors` has the second operand's elements, unless they vary along the lanes (`EACH`).
struct Lines<S, T: Lanes<S>, const R: usize, const P: usize, const EACH: bool> {
    factors: [[T::Factor; P]; R],
    first: *const T,
    second: *const T,
    out: Rows<T>,
    terms: Dim<3>,
}

/// # Safety
/// Same as for [`run`].
#[inline(always)]
unsafe fn factors<S, T: Lanes<S>, const R: usize, const P: usize, const EACH: bool>(
    second: *const T,
    line: &Line,
) -> [[T::Factor; P]; R] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut factors = [[T::splat(T::ZERO); P]; R];
        if const { !EACH } {
            for (row, factors) in factors.iter_mut().enumerate() {
                for (term, factor) in factors.iter_mut().enumerate() {
                    let at = row as isize * line.rows.strides[1] + term as isize * line.terms.strides[1];
                    *factor = T::splat(*second.wrapping_offset(at));
                }
            }
        }
        factors
    }
}

impl<S, T: Lanes<S>, const R: usize, const P: usize, const EACH: bool> Lines<S, T, R, P, EACH> {
    #[inline(always)]
    fn out_at(&self, row: usize, lane: usize) -> *mut T {
        self.out.at(row).wrapping_add(lane)
    }

    /// Returns the sums for a vector, or its first `count` lanes.
    ///
    /// # Safety
    /// The processor must support the instruction set `S`, and these lanes of all terms must be readable.
    #[inline(always)]
    unsafe fn sum(&self, lane: usize, count: Option<usize>) -> [T::Sum; R] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut sums = [T::none(); R];
            for term in 0..P {
                let at = |t: usize| term as isize * self.terms.strides[t] + lane as isize;
                let from = self.first.wrapping_offset(at(0));
                let vector = match count {
                    None => T::load(from),
                    Some(count) => T::load_first(from, count),
                };
                for (row, sum) in sums.iter_mut().enumerate() {
                    let factor = if EACH {
                        let from = self.second.wrapping_offset(at(1));
                        T::each(match count {
                            None => T::load(from),
                            Some(count) => T::load_first(from, count),
                        })
                    } else {
                        self.factors[row][term]
                    };
                    *sum = if term == 0 { T::times(factor, vector) } else { T::plus_times(factor, vector, *sum) };
                }
            }
            sums
        }
    }
}
