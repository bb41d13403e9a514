//! Executes a [`Sum`] plan.
//!
//! Complex numbers are pairs of reals. Chains of additions have at most the length
//! [`crate::local_plan::longest_chain`].

use rayon::prelude::*;

use super::Element;
use super::pointer::{Const, Mut};
use super::simd::{Real, RealBody, Simd};
use crate::local_plan::{Dim, Isa, Sum, UNIT};

/// Maximum reals in a unit, reached by complex numbers only.
const REALS: usize = 2 * UNIT;
/// Minimum steps for a unit that are split among threads.
const MIN_SPLIT_STEPS: usize = 2;
/// Lines in a block, added one after the other, if each corresponds to a stretch of `out`.
const BLOCK_LINES: usize = 128;
/// Maximum bytes in a block if each line has a single sum, or `UNCACHED_BLOCK_BYTES` if lines are not contiguous.
const BLOCK_BYTES: usize = 256 << 10;
const UNCACHED_BLOCK_BYTES: usize = 128 << 10;
/// Vectors in a chain, added one after the other.
const CHAIN: usize = 64;
/// Chains at the same time, to hide the latency of additions.
const CHAINS: usize = 4;
/// Reals in a piece of a strided line, added in eight chains.
const STRIDED_PIECE_REALS: usize = 512;
/// Maximum sums of chains or pieces that are added one after the other.
const BLOCK_SUMS: usize = 128;
const MIN_VECTOR_BYTES: usize = 16;
/// Maximum reals in a line that is summed together with others.
const MAX_ROW_REALS: usize = CHAINS * CHAIN * MIN_VECTOR_BYTES / 8;
const MAX_LANES: usize = 16;
/// Maximum reals in a small unit; its buffer is cleared sooner.
const MAX_SMALL_UNIT_REALS: usize = 32;

/// # Safety
/// The processor must support `isa`. The elements at all offsets of the plan's loops, relative to `from`, may be read.
/// The elements at all offsets of the loops over `out`, relative to `to`, may be written, and no other thread accesses
/// them.
pub(super) unsafe fn sum<T: Element>(plan: &Sum, isa: Isa, from: *const T, to: *mut T) {
    // SAFETY: guaranteed by the caller; an element consists of `PARTS` numbers of the type `Real`.
    unsafe { SumShare { plan, isa, parts: T::PARTS, from: Const(from.cast::<T::Real>()), to: Mut(to.cast()) }.run() }
}

struct SumShare<'a, R> {
    plan: &'a Sum,
    isa: Isa,
    parts: usize,
    from: Const<R>,
    to: Mut<R>,
}

impl<R: Real> SumShare<'_, R> {
    /// # Safety
    /// Same as for [`sum`].
    unsafe fn run(&self) {
        let (units, threads) = (self.plan.units(), self.plan.threads);
        let shares = if units >= threads { threads } else { 1 };
        // SAFETY: units are disjoint, and so are the shares' ranges of units.
        let range = |share: usize| unsafe {
            let units = units * share / shares..units * (share + 1) / shares;
            if shares == threads && self.sums_rows() {
                return R::dispatch(self.isa, Rows { share: self, units });
            }
            for unit in units {
                self.unit(unit, threads / shares);
            }
        };
        if shares == 1 { range(0) } else { (0..shares).into_par_iter().with_max_len(1).for_each(range) }
    }

    fn sums_rows(&self) -> bool {
        let Sum { line, line_is_summed, .. } = self.plan;
        *line_is_summed
            && line.strides[0] == 1
            && line.extent * self.parts <= MAX_ROW_REALS
            && self.plan.sums.is_empty()
    }

    /// # Safety
    /// Same as for [`sum`], with one unit of `out`.
    unsafe fn unit(&self, unit: usize, threads: usize) {
        let parts = self.parts;
        let ([source, target], count) = self.plan.unit(unit);
        let from = Const(self.from.at(source * parts as isize));
        // SAFETY: guaranteed by the caller.
        unsafe {
            if count * parts <= MAX_SMALL_UNIT_REALS {
                self.sum_unit::<MAX_SMALL_UNIT_REALS>(from, count, target, threads);
            } else {
                self.sum_unit::<REALS>(from, count, target, threads);
            }
        }
    }

    /// # Safety
    /// Same as for [`sum`], with one unit of `out` of at most `N` reals.
    unsafe fn sum_unit<const N: usize>(&self, from: Const<R>, count: usize, target: isize, threads: usize) {
        let parts = self.parts;
        let mut total = [R::ZERO; N];
        // SAFETY: guaranteed by the caller.
        unsafe { self.steps(from, count, 0..self.plan.steps(), threads, &mut total) };
        for (i, element) in total[..count * parts].chunks_exact(parts).enumerate() {
            let to = self.to.at((target + i as isize * self.plan.line.strides[1]) * parts as isize);
            for (part, &real) in element.iter().enumerate() {
                // SAFETY: `to` points to an element of this unit of `out`.
                unsafe { to.add(part).write(real) };
            }
        }
    }

    /// Limited by the bytes of a block and the length of a chain. A line shorter than a vector or piece still costs one
    /// addition.
    fn block(&self) -> usize {
        if !self.plan.line_is_summed {
            return BLOCK_LINES;
        }
        let line = self.plan.piece.min(self.plan.line.extent).max(1) * self.parts;
        let (bytes, most) = if self.plan.line.strides[0] == 1 {
            (BLOCK_BYTES, BLOCK_SUMS * CHAIN / additions(line, MIN_VECTOR_BYTES / size_of::<R>()))
        } else {
            (UNCACHED_BLOCK_BYTES, BLOCK_SUMS / line.div_ceil(STRIDED_PIECE_REALS))
        };
        (bytes / (line * size_of::<R>())).min(most).max(1)
    }

    /// Adds a range of steps to `total`: first splits it among threads, then halves it at multiples of the block
    /// length.
    ///
    /// # Safety
    /// Same as for [`sum`], with one unit of `out`.
    unsafe fn steps<const N: usize>(
        &self,
        from: Const<R>,
        count: usize,
        range: std::ops::Range<usize>,
        threads: usize,
        total: &mut [R; N],
    ) {
        let (len, block) = (range.len(), self.block());
        let forks = threads > 1 && len >= MIN_SPLIT_STEPS;
        if !forks && len <= block {
            // SAFETY: guaranteed by the caller; the instruction set is available.
            unsafe { R::dispatch(self.isa, Steps { share: self, from: from.at(0), count, range, total }) };
            return;
        }
        let half = threads / 2;
        let middle = range.start + if forks { len * half / threads } else { len.div_ceil(block) / 2 * block };
        let mut second = [R::ZERO; N];
        // SAFETY: both halves only read the tensor, and each adds to its own buffer.
        unsafe {
            if forks {
                rayon::join(
                    || self.steps(from, count, range.start..middle, half, total),
                    || self.steps(from, count, middle..range.end, threads - half, &mut second),
                );
            } else {
                self.steps(from, count, range.start..middle, 1, total);
                self.steps(from, count, middle..range.end, 1, &mut second);
            }
        }
        total.iter_mut().zip(&second).take(count * self.parts).for_each(|(a, &b)| *a += b);
    }
}

/// Units that are short contiguous lines.
struct Rows<'a, R> {
    share: &'a SumShare<'a, R>,
    units: std::ops::Range<usize>,
}

impl<R: Real> RealBody<R> for Rows<'_, R> {
    type Output = ();

    /// # Safety
    /// Same as for [`sum`], with the instruction set `S` and these units of `out`.
    #[inline(always)]
    unsafe fn run<S: Simd<R>>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe { if self.share.parts == 1 { self.rows::<S, 1>() } else { self.rows::<S, 2>() } }
    }
}

impl<R: Real> Rows<'_, R> {
    /// Sums as many lines as a vector has elements together.
    ///
    /// # Safety
    /// As above, for elements of `PARTS` reals.
    #[inline(always)]
    unsafe fn rows<S: Simd<R>, const PARTS: usize>(self) {
        let Rows { share, units } = self;
        let plan = share.plan;
        let Dim { extent, strides } = plan.out_loops.last().copied().unwrap_or(Dim { extent: 1, strides: [0; 2] });
        let [next, next_out] = strides.map(|stride| stride * PARTS as isize);
        let mut unit = units.start;
        while unit < units.end {
            let count = (S::LANES / PARTS).min(extent - unit % extent).min(units.end - unit);
            let [from, to] = [0, 1].map(|tensor| plan.unit(unit).0[tensor] * PARTS as isize);
            let (from, to) = (share.from.at(from), share.to.at(to));
            // SAFETY: guaranteed by the caller.
            unsafe {
                let mut sums = [S::zero(); MAX_LANES];
                for (row, sum) in sums.iter_mut().enumerate().take(count) {
                    *sum = row_sum::<S, R>(from.wrapping_offset(row as isize * next), plan.line.extent * PARTS);
                }
                let mut lanes = [R::ZERO; MAX_LANES];
                S::store(lanes.as_mut_ptr(), S::lane_sums::<PARTS>(sums));
                for (row, element) in lanes.chunks_exact(PARTS).enumerate().take(count) {
                    let to = to.wrapping_offset(row as isize * next_out);
                    for (part, &real) in element.iter().enumerate() {
                        to.add(part).write(real);
                    }
                }
            }
            unit += count;
        }
    }
}

/// Sums a contiguous line; real and imaginary parts are in alternate lanes.
///
/// # Safety
/// The processor must support the instruction set `S`, and `count` reals must be readable.
#[inline(always)]
unsafe fn row_sum<S: Simd<R>, R: Real>(line: *const R, count: usize) -> S::Vector {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sums = [S::zero(); CHAINS];
        let mut i = 0;
        while i + CHAINS * S::LANES <= count {
            for (chain, sum) in sums.iter_mut().enumerate() {
                *sum = S::add(*sum, S::load(line.add(i + chain * S::LANES)));
            }
            i += CHAINS * S::LANES;
        }
        while i + S::LANES <= count {
            sums[0] = S::add(sums[0], S::load(line.add(i)));
            i += S::LANES;
        }
        if i < count {
            sums[1] = S::add(sums[1], S::load_first(line.add(i), count - i));
        }
        S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3]))
    }
}

struct Steps<'a, R> {
    share: &'a SumShare<'a, R>,
    from: *const R,
    count: usize,
    range: std::ops::Range<usize>,
    total: &'a mut [R],
}

impl<R: Real> RealBody<R> for Steps<'_, R> {
    type Output = ();

    /// # Safety
    /// The processor must support the instruction set `S`, and the source of the steps must be readable.
    #[inline(always)]
    unsafe fn run<S: Simd<R>>(self) {
        let Steps { share: &SumShare { plan, parts, .. }, from, count, range, total } = self;
        let stride = plan.line.strides[0];
        let at = |step: usize| from.wrapping_offset(plan.step(step).0 * parts as isize);
        // SAFETY: guaranteed by the caller.
        unsafe {
            if plan.line_is_summed {
                sum_lines::<S, R>(plan, parts, from, range, total);
            } else if stride == 1 {
                let mut step = range.start;
                // Four lines at a time access `total` only once.
                while step + 4 <= range.end {
                    add::<S, R, 4>([at(step), at(step + 1), at(step + 2), at(step + 3)], count * parts, total);
                    step += 4;
                }
                for step in step..range.end {
                    add::<S, R, 1>([at(step)], count * parts, total);
                }
            } else {
                for from in range.map(at) {
                    for (i, to) in total[..count * parts].iter_mut().enumerate() {
                        let (element, part) = (i / parts, i % parts);
                        *to += *from.wrapping_offset(element as isize * stride * parts as isize).add(part);
                    }
                }
            }
        }
    }
}

/// # Safety
/// The processor must support the instruction set `S`, and `count` reals of each line must be readable.
#[inline(always)]
unsafe fn add<S: Simd<R>, R: Real, const N: usize>(lines: [*const R; N], count: usize, total: &mut [R]) {
    assert!(count <= total.len(), "a unit larger than its buffer");
    let to = total.as_mut_ptr();
    let mut i = 0;
    // SAFETY: guaranteed by the caller and by the assertion.
    unsafe {
        while i + S::LANES <= count {
            let mut sum = S::load(to.add(i));
            for line in lines {
                sum = S::add(sum, S::load(line.add(i)));
            }
            S::store(to.add(i), sum);
            i += S::LANES;
        }
        while i < count {
            *to.add(i) = lines.iter().fold(*to.add(i), |sum, line| sum + *line.add(i));
            i += 1;
        }
    }
}

fn additions(reals: usize, lanes: usize) -> usize {
    reals.div_ceil(lanes).min(reals / (CHAINS * lanes) + CHAINS)
}

/// Adds all elements of the lines to the first element of `total`, the whole unit.
///
/// # Safety
/// Same as for [`Steps`].
#[inline(always)]
unsafe fn sum_lines<S: Simd<R>, R: Real>(
    plan: &Sum,
    parts: usize,
    from: *const R,
    range: std::ops::Range<usize>,
    total: &mut [R],
) {
    let stride = plan.line.strides[0] * parts as isize;
    // SAFETY: guaranteed by the caller; parts alternate as in memory, because every vector has an even number of lanes.
    unsafe {
        let (mut ended, mut sums, mut added) = (S::zero(), [S::zero(); CHAINS], 0);
        for (start, count) in range.map(|step| plan.step(step)) {
            let line = from.wrapping_offset(start * parts as isize);
            if stride != parts as isize {
                sum_strided::<R>(line, stride, [count, parts], total);
                continue;
            }
            let count = count * parts;
            let mut i = 0;
            while i < count {
                while added < CHAIN && i + CHAINS * S::LANES <= count {
                    for (chain, sum) in sums.iter_mut().enumerate() {
                        *sum = S::add(*sum, S::load(line.add(i + chain * S::LANES)));
                    }
                    i += CHAINS * S::LANES;
                    added += 1;
                }
                while added < CHAIN && i < count {
                    let some = S::LANES.min(count - i);
                    sums[0] = S::add(sums[0], S::load_first(line.add(i), some));
                    i += some;
                    added += 1;
                }
                if added == CHAIN {
                    ended = S::add(ended, S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])));
                    (sums, added) = ([S::zero(); CHAINS], 0);
                }
            }
        }
        let mut lanes = [R::ZERO; MAX_LANES];
        let sum = S::add(ended, S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])));
        S::store(lanes.as_mut_ptr(), sum);
        sum_lanes(&mut lanes[..S::LANES], parts, total);
    }
}

/// Adds `count` elements of `parts` reals each, which are `stride` reals apart, to the first element of `total`.
///
/// # Safety
/// The elements may be read.
#[inline(always)]
unsafe fn sum_strided<R: Real>(line: *const R, stride: isize, [count, parts]: [usize; 2], total: &mut [R]) {
    let piece = STRIDED_PIECE_REALS / parts;
    for first in (0..count).step_by(piece) {
        let mut some = [R::ZERO; 8];
        for i in first..count.min(first + piece) {
            for part in 0..parts {
                // SAFETY: guaranteed by the caller.
                some[(i * parts + part) % 8] += unsafe { *line.wrapping_offset(i as isize * stride).add(part) };
            }
        }
        sum_lanes(&mut some, parts, total);
    }
}

#[inline(always)]
fn sum_lanes<R: Real>(lanes: &mut [R], parts: usize, total: &mut [R]) {
    let mut width = lanes.len();
    while width > parts {
        width /= 2;
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
    }
    (0..parts).for_each(|part| total[part] += lanes[part]);
}

#[cfg(test)]
mod tests;
