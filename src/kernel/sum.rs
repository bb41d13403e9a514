//! Sums over dimensions of one tensor, as a [`Sum`] plan says.
//!
//! Complex numbers are summed as the reals that they are made of. Long sums are pairwise sums of blocks, so that rounding
//! errors grow with the length of a block and the logarithm of the number of blocks (N. J. Higham, Accuracy and Stability
//! of Numerical Algorithms, 2nd edition, section 4.2). Invariants: out is written once and never read; steps are added in
//! an order that depends on the plan only; no chain of additions is longer than [`crate::local_plan::longest_chain`] says.

use rayon::prelude::*;

use super::Element;
use super::pointer::{Const, Mut};
use super::simd::{Real, RealBody, Simd};
use crate::dtype::Dtype;
use crate::local_plan::{Isa, Sum, UNIT};

/// The reals of a unit of complex numbers.
const REALS: usize = 2 * UNIT;
/// Fewest steps of a unit that are worth a thread.
const WORTH_SPLITTING: usize = 2;
/// Lines side by side that are added one after the other.
const BLOCK_LINES: usize = 128;
/// Bytes along the sum that make up a block, of neighbours and of elements far apart.
const BLOCK_BYTES: usize = 256 << 10;
const FAR_BLOCK_BYTES: usize = 128 << 10;
/// Vectors that are added one after the other.
const CHAIN: usize = 64;
/// Vectors that are added at once, each to a sum of its own.
const CHAINS: usize = 4;
/// Reals far apart that are added one after the other, in eight chains.
const FAR_PIECE: usize = 512;
/// Sums of chains of vectors, or of pieces far apart, that are added one after the other.
const BLOCK_SUMS: usize = 128;
/// Bytes of the shortest vector of any instruction set.
const SHORTEST_VECTOR: usize = 16;
/// The reals of a small unit.
const FEW: usize = 32;

/// # Safety
/// The instruction set is available. From `from`, every offset of the plan's loops may be read; from `to`, every offset
/// of those over out may be written and no other thread touches it.
pub(super) unsafe fn sum<T: Element>(plan: &Sum, isa: Isa, from: *const T, to: *mut T) {
    // SAFETY: the caller's promise: an element is one or two reals of the type that its dtype says.
    unsafe {
        match T::DTYPE {
            Dtype::Float32 => {
                SumShare::<f32> { plan, isa, parts: 1, from: Const(from.cast()), to: Mut(to.cast()) }.run()
            }
            Dtype::Float64 => {
                SumShare::<f64> { plan, isa, parts: 1, from: Const(from.cast()), to: Mut(to.cast()) }.run()
            }
            Dtype::Complex64 => {
                SumShare::<f32> { plan, isa, parts: 2, from: Const(from.cast()), to: Mut(to.cast()) }.run()
            }
            Dtype::Complex128 => {
                SumShare::<f64> { plan, isa, parts: 2, from: Const(from.cast()), to: Mut(to.cast()) }.run()
            }
        }
    }
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
    /// As [`sum`].
    unsafe fn run(&self) {
        let (units, threads) = (self.plan.units(), self.plan.threads);
        let shares = if units >= threads { threads } else { 1 };
        // SAFETY: units are disjoint, and so are the shares of them.
        let range = |share: usize| unsafe {
            for unit in units * share / shares..units * (share + 1) / shares {
                self.unit(unit, threads / shares);
            }
        };
        if shares == 1 { range(0) } else { (0..shares).into_par_iter().with_max_len(1).for_each(range) }
    }

    /// # Safety
    /// As [`sum`] for one unit.
    unsafe fn unit(&self, unit: usize, threads: usize) {
        let parts = self.parts;
        let ([source, target], count) = self.plan.unit(unit);
        let from = Const(self.from.at(source * parts as isize));
        // SAFETY: the caller's promise.
        unsafe {
            if count * parts <= FEW {
                self.sum_unit::<FEW>(from, count, target, threads);
            } else {
                self.sum_unit::<REALS>(from, count, target, threads);
            }
        }
    }

    /// A unit of at most `N` reals.
    ///
    /// # Safety
    /// As [`sum`] for one unit.
    unsafe fn sum_unit<const N: usize>(&self, from: Const<R>, count: usize, target: isize, threads: usize) {
        let parts = self.parts;
        let mut total = [R::ZERO; N];
        // SAFETY: the caller's promise.
        unsafe { self.steps(from, count, 0..self.plan.steps(), threads, &mut total) };
        for (i, element) in total[..count * parts].chunks_exact(parts).enumerate() {
            let to = self.to.at((target + i as isize * self.plan.line.strides[1]) * parts as isize);
            for (part, &real) in element.iter().enumerate() {
                // SAFETY: an element of this unit of out.
                unsafe { to.add(part).write(real) };
            }
        }
    }

    /// Steps that are added one after the other: so many bytes, but no more additions than the chains may have. Lines that are
    /// shorter than a vector, or than a piece, take an addition each all the same.
    fn block(&self) -> usize {
        if !self.plan.inside {
            return BLOCK_LINES;
        }
        let line = self.plan.piece.min(self.plan.line.extent).max(1) * self.parts;
        let (bytes, most) = if self.plan.line.strides[0] == 1 {
            (BLOCK_BYTES, BLOCK_SUMS * CHAIN / additions(line, SHORTEST_VECTOR / size_of::<R>()))
        } else {
            (FAR_BLOCK_BYTES, BLOCK_SUMS / line.div_ceil(FAR_PIECE))
        };
        (bytes / (line * size_of::<R>())).min(most).max(1)
    }

    /// Adds some steps onto `total`: halves of whole blocks, on threads as long as there are any.
    ///
    /// # Safety
    /// As [`sum`] for one unit.
    unsafe fn steps<const N: usize>(
        &self,
        from: Const<R>,
        count: usize,
        range: std::ops::Range<usize>,
        threads: usize,
        total: &mut [R; N],
    ) {
        let (len, block) = (range.len(), self.block());
        let forks = threads > 1 && len >= WORTH_SPLITTING;
        if !forks && len <= block {
            // SAFETY: the instruction set is available; the rest as above.
            unsafe { R::dispatch(self.isa, Steps { share: self, from: from.at(0), count, range, total }) };
            return;
        }
        let half = threads / 2;
        let middle = range.start + if forks { len * half / threads } else { len.div_ceil(block) / 2 * block };
        let mut second = [R::ZERO; N];
        // SAFETY: reading, and each into a buffer of its own.
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

/// Some steps of a unit.
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
    /// The instructions exist, and the source of the steps may be read.
    #[inline(always)]
    unsafe fn run<S: Simd<R>>(self) {
        let Steps { share: &SumShare { plan, parts, .. }, from, count, range, total } = self;
        let stride = plan.line.strides[0];
        let at = |step: usize| from.wrapping_offset(plan.step(step).0 * parts as isize);
        // SAFETY: the caller's promise.
        unsafe {
            if plan.inside {
                along::<S, R>(plan, parts, from, range, total);
            } else if stride == 1 {
                let mut step = range.start;
                // Four lines at a time, so that the buffer is read and written a fourth as often.
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

/// Adds lines onto the total, real by real.
///
/// # Safety
/// The instructions exist; `count` reals of each line may be read.
#[inline(always)]
unsafe fn add<S: Simd<R>, R: Real, const N: usize>(lines: [*const R; N], count: usize, total: &mut [R]) {
    assert!(count <= total.len(), "a unit larger than its buffer");
    let to = total.as_mut_ptr();
    let mut i = 0;
    // SAFETY: the caller's promise, and the assertion.
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

/// How many additions a line of so many reals is at most for vectors of `lanes` and of more: some vectors at once, then those
/// that are left, the last of which may not be full.
fn additions(reals: usize, lanes: usize) -> usize {
    reals.div_ceil(lanes).min(reals / (CHAINS * lanes) + CHAINS)
}

/// Adds all elements of the lines onto the first element of the total.
///
/// # Safety
/// As for [`Steps`].
#[inline(always)]
unsafe fn along<S: Simd<R>, R: Real>(
    plan: &Sum,
    parts: usize,
    from: *const R,
    range: std::ops::Range<usize>,
    total: &mut [R],
) {
    let stride = plan.line.strides[0] * parts as isize;
    // SAFETY: the caller's promise; lanes hold real and imaginary parts in turn, as no vector has an odd number.
    unsafe {
        let (mut ended, mut sums, mut added) = (S::zero(), [S::zero(); CHAINS], 0);
        for (start, count) in range.map(|step| plan.step(step)) {
            let line = from.wrapping_offset(start * parts as isize);
            if stride != parts as isize {
                far::<R>(line, stride, [count, parts], total);
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
        let mut lanes = [R::ZERO; 16];
        let sum = S::add(ended, S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])));
        S::store(lanes.as_mut_ptr(), sum);
        across(&mut lanes[..S::LANES], parts, total);
    }
}

/// Adds `count` elements of `parts` reals that are `stride` reals apart onto the first element of the total.
///
/// # Safety
/// They may be read.
#[inline(always)]
unsafe fn far<R: Real>(line: *const R, stride: isize, [count, parts]: [usize; 2], total: &mut [R]) {
    let piece = FAR_PIECE / parts;
    for first in (0..count).step_by(piece) {
        let mut some = [R::ZERO; 8];
        for i in first..count.min(first + piece) {
            for part in 0..parts {
                // SAFETY: the caller's promise.
                some[(i * parts + part) % 8] += unsafe { *line.wrapping_offset(i as isize * stride).add(part) };
            }
        }
        across(&mut some, parts, total);
    }
}

/// Adds lanes, of which `parts` make up an element, onto the first element of the total: halves onto halves.
#[inline(always)]
fn across<R: Real>(lanes: &mut [R], parts: usize, total: &mut [R]) {
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
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_more_additions_than_blocks_count() {
        for shortest in [2, 4] {
            for lanes in [shortest, 2 * shortest, 4 * shortest] {
                for reals in 1..10 * CHAINS * lanes {
                    let (whole, rest) = (reals / (CHAINS * lanes), reals % (CHAINS * lanes));
                    let taken = whole + rest.div_ceil(lanes);
                    assert!(taken <= additions(reals, shortest), "{reals} reals in vectors of {lanes}: {taken}");
                }
            }
        }
    }
}
