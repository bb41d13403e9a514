//! Sums over dimensions of one tensor, as a [`Sum`] plan says.
//!
//! Complex numbers are summed as the reals that they are made of. Invariants: out is written once and never read;
//! steps are added in an order that depends on the plan only.

use rayon::prelude::*;

use super::Element;
use super::pointer::{Const, Mut};
use super::simd::{Real, RealBody, Simd};
use crate::dtype::Dtype;
use crate::local::{Isa, Sum, UNIT};

/// The reals of a unit of complex numbers.
const REALS: usize = 2 * UNIT;
/// Fewest steps of a unit that are worth a thread.
const WORTH_SPLITTING: usize = 2;

/// # Safety
/// The instruction set is available. From `from`, every offset of the plan's loops may be read; from `to`, every offset
/// of those over out may be written and no other thread touches it.
pub(super) unsafe fn sum<T: Element>(plan: &Sum, isa: Isa, from: *const T, to: *mut T) {
    // SAFETY: the caller's promise: an element is one or two reals of the type that its dtype says.
    unsafe {
        match T::DTYPE {
            Dtype::Float32 => Share::<f32> { plan, isa, parts: 1, from: Const(from.cast()), to: Mut(to.cast()) }.run(),
            Dtype::Float64 => Share::<f64> { plan, isa, parts: 1, from: Const(from.cast()), to: Mut(to.cast()) }.run(),
            Dtype::Complex64 => {
                Share::<f32> { plan, isa, parts: 2, from: Const(from.cast()), to: Mut(to.cast()) }.run()
            }
            Dtype::Complex128 => {
                Share::<f64> { plan, isa, parts: 2, from: Const(from.cast()), to: Mut(to.cast()) }.run()
            }
        }
    }
}

struct Share<'a, R> {
    plan: &'a Sum,
    isa: Isa,
    parts: usize,
    from: Const<R>,
    to: Mut<R>,
}

impl<R: Real> Share<'_, R> {
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
        let mut total = [R::ZERO; REALS];
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

    /// Adds some steps onto `total`.
    ///
    /// # Safety
    /// As [`sum`] for one unit.
    unsafe fn steps(
        &self,
        from: Const<R>,
        count: usize,
        range: std::ops::Range<usize>,
        threads: usize,
        total: &mut [R; REALS],
    ) {
        if threads < 2 || range.len() < WORTH_SPLITTING {
            // SAFETY: the instruction set is available; the rest as above.
            unsafe { R::dispatch(self.isa, Steps { share: self, from: from.at(0), count, range, total }) };
            return;
        }
        let half = threads / 2;
        let middle = range.start + range.len() * half / threads;
        let mut second = [R::ZERO; REALS];
        // SAFETY: reading, and each into a buffer of its own.
        unsafe {
            rayon::join(
                || self.steps(from, count, range.start..middle, half, total),
                || self.steps(from, count, middle..range.end, threads - half, &mut second),
            );
        }
        total.iter_mut().zip(&second).take(count * self.parts).for_each(|(a, &b)| *a += b);
    }
}

/// Some steps of a unit.
struct Steps<'a, R> {
    share: &'a Share<'a, R>,
    from: *const R,
    count: usize,
    range: std::ops::Range<usize>,
    total: &'a mut [R; REALS],
}

impl<R: Real> RealBody<R> for Steps<'_, R> {
    type Output = ();

    /// # Safety
    /// The instructions exist, and the source of the steps may be read.
    #[inline(always)]
    unsafe fn run<S: Simd<R>>(self) {
        let Steps { share: &Share { plan, parts, .. }, from, count, range, total } = self;
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
unsafe fn add<S: Simd<R>, R: Real, const N: usize>(lines: [*const R; N], count: usize, total: &mut [R; REALS]) {
    assert!(count <= REALS, "a unit larger than its buffer");
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
    total: &mut [R; REALS],
) {
    const CHAINS: usize = 4;
    let stride = plan.line.strides[0] * parts as isize;
    // SAFETY: the caller's promise; lanes hold real and imaginary parts in turn, as no vector has an odd number.
    unsafe {
        let mut sums = [S::zero(); CHAINS];
        for (start, count) in range.map(|step| plan.step(step)) {
            let line = from.wrapping_offset(start * parts as isize);
            if stride == parts as isize {
                let count = count * parts;
                let mut i = 0;
                while i + CHAINS * S::LANES <= count {
                    for (chain, sum) in sums.iter_mut().enumerate() {
                        *sum = S::add(*sum, S::load(line.add(i + chain * S::LANES)));
                    }
                    i += CHAINS * S::LANES;
                }
                while i < count {
                    let some = S::LANES.min(count - i);
                    sums[0] = S::add(sums[0], S::load_first(line.add(i), some));
                    i += some;
                }
            } else {
                let mut some = [R::ZERO; 8];
                for i in 0..count {
                    for part in 0..parts {
                        some[(i * parts + part) % 8] += *line.wrapping_offset(i as isize * stride).add(part);
                    }
                }
                some.iter().enumerate().for_each(|(i, &sum)| total[i % parts] += sum);
            }
        }
        let mut lanes = [R::ZERO; 16];
        let sum = S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3]));
        S::store(lanes.as_mut_ptr(), sum);
        lanes[..S::LANES].iter().enumerate().for_each(|(i, &sum)| total[i % parts] += sum);
    }
}
