//! Computes the sums of one block, whose lanes have stride 1 or 0.

use super::super::loops::{Factors, Lanes, Vectors, Visit};
use crate::kernel::Element;
use crate::local_plan::{StagedPlan, TOGETHER};

/// Merges the sums of each lane into `out`.
///
/// # Safety
/// The processor must support the instruction set `S`. The elements at the plan's offsets may be read or written.
#[inline(always)]
pub(super) unsafe fn block<S, T: Lanes<S>>(
    plan: &StagedPlan,
    factors: Factors<T>,
    operands: [*mut T; 2],
    out: *mut T,
    lanes: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let vectors = Visit::new(factors, true).vectors::<S>();
        for &[first, second, to] in &plan.outs {
            let at = [operands[0].wrapping_offset(first), operands[1].wrapping_offset(second)];
            let line = Line { at, terms: &plan.terms, out: out.wrapping_offset(to), lanes };
            if plan.each { line.merge::<S, true>(&vectors) } else { line.merge::<S, false>(&vectors) }
        }
    }
}

/// Writes the sums over all lanes to `totals`.
///
/// # Safety
/// As above.
#[inline(always)]
pub(super) unsafe fn totals<S, T: Lanes<S>>(
    plan: &StagedPlan,
    conjugated: [bool; 2],
    operands: [*mut T; 2],
    totals: &mut [T],
    lanes: usize,
) {
    for (total, &[first, second, _]) in totals.iter_mut().zip(&plan.outs) {
        let at = [operands[0].wrapping_offset(first), operands[1].wrapping_offset(second)];
        let line = Line { at, terms: &plan.terms, out: std::ptr::null_mut(), lanes };
        // SAFETY: guaranteed by the caller.
        *total =
            unsafe { if plan.each { line.total::<S, true>(conjugated) } else { line.total::<S, false>(conjugated) } };
    }
}

struct Line<'a, T> {
    at: [*mut T; 2],
    terms: &'a [[isize; 2]],
    out: *mut T,
    lanes: usize,
}

impl<T: Element> Line<'_, T> {
    /// # Safety
    /// Same as for [`block`].
    #[inline(always)]
    unsafe fn merge<S, const EACH: bool>(&self, vectors: &Vectors<S, T>)
    where
        T: Lanes<S>,
    {
        let mut lane = 0;
        // SAFETY: guaranteed by the caller.
        unsafe {
            while lane + TOGETHER * T::LANES <= self.lanes {
                let sums = self.sums::<S, TOGETHER, EACH>([T::none(); TOGETHER], lane);
                for (v, &sum) in sums.iter().enumerate() {
                    vectors.full(self.out.wrapping_add(lane + v * T::LANES), sum);
                }
                lane += TOGETHER * T::LANES;
            }
            while lane + T::LANES <= self.lanes {
                let [sum] = self.sums::<S, 1, EACH>([T::none()], lane);
                vectors.full(self.out.wrapping_add(lane), sum);
                lane += T::LANES;
            }
            if lane < self.lanes {
                let count = self.lanes - lane;
                vectors.first(self.out.wrapping_add(lane), self.rest::<S, EACH>(lane, count), count);
            }
        }
    }

    /// # Safety
    /// Same as for [`totals`].
    #[inline(always)]
    unsafe fn total<S, const EACH: bool>(&self, conjugated: [bool; 2]) -> T
    where
        T: Lanes<S>,
    {
        let mut lane = 0;
        // SAFETY: guaranteed by the caller; a vector has at most 16 elements.
        unsafe {
            let mut sums = [T::none(); TOGETHER];
            while lane + TOGETHER * T::LANES <= self.lanes {
                sums = self.sums::<S, TOGETHER, EACH>(sums, lane);
                lane += TOGETHER * T::LANES;
            }
            let [a, b, c, d] = sums;
            let mut sum = T::merge(T::merge(a, b), T::merge(c, d));
            while lane + T::LANES <= self.lanes {
                [sum] = self.sums::<S, 1, EACH>([sum], lane);
                lane += T::LANES;
            }
            if lane < self.lanes {
                sum = T::merge(sum, self.rest::<S, EACH>(lane, self.lanes - lane));
            }
            let mut lanes = [T::ZERO; 16];
            T::store(lanes.as_mut_ptr(), T::finish(sum, conjugated));
            let mut width = T::LANES;
            while width > 1 {
                width /= 2;
                for i in 0..width {
                    let upper = lanes[i + width];
                    lanes[i] += upper;
                }
            }
            lanes[0]
        }
    }

    /// # Safety
    /// Same as for [`block`].
    #[inline(always)]
    unsafe fn sums<S, const V: usize, const EACH: bool>(&self, mut sums: [T::Sum; V], lane: usize) -> [T::Sum; V]
    where
        T: Lanes<S>,
    {
        let [first, second] = self.at;
        for &[to_first, to_second] in self.terms {
            let first = first.wrapping_offset(to_first).wrapping_add(lane);
            let second = second.wrapping_offset(to_second);
            // SAFETY: guaranteed by the caller.
            unsafe {
                let same = if EACH { T::splat(T::ZERO) } else { T::splat(*second) };
                for (v, sum) in sums.iter_mut().enumerate() {
                    let at = v * T::LANES;
                    let factor = if EACH { T::each(T::load(second.wrapping_add(lane + at))) } else { same };
                    *sum = T::plus_times(factor, T::load(first.wrapping_add(at)), *sum);
                }
            }
        }
        sums
    }

    /// # Safety
    /// Same as for [`block`].
    #[inline(always)]
    unsafe fn rest<S, const EACH: bool>(&self, lane: usize, count: usize) -> T::Sum
    where
        T: Lanes<S>,
    {
        let [first, second] = self.at;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut sum = T::none();
            for &[to_first, to_second] in self.terms {
                let first = first.wrapping_offset(to_first).wrapping_add(lane);
                let second = second.wrapping_offset(to_second);
                let factor = match EACH {
                    true => T::each(T::load_first(second.wrapping_add(lane), count)),
                    false => T::splat(*second),
                };
                sum = T::plus_times(factor, T::load_first(first, count), sum);
            }
            sum
        }
    }
}

/// The pairwise sum of blocks: a slot for the next block, then one for each power of two.
pub(super) struct Totals<'a, T> {
    slots: &'a mut [T],
    len: usize,
    blocks: usize,
}

impl<'a, T: Element> Totals<'a, T> {
    pub fn new(slots: &'a mut [T], len: usize) -> Self {
        Totals { slots, len, blocks: 0 }
    }

    pub fn next(&mut self) -> &mut [T] {
        &mut self.slots[..self.len]
    }

    pub fn add(&mut self) {
        let level = self.blocks.trailing_ones() as usize;
        let (next, slots) = self.slots.split_at_mut(self.len);
        for slot in slots.chunks_exact(self.len).take(level) {
            next.iter_mut().zip(slot).for_each(|(sum, &other)| *sum = other + *sum);
        }
        slots[level * self.len..][..self.len].copy_from_slice(next);
        self.blocks += 1;
    }

    /// Puts the total into the first slot.
    pub fn finish(mut self) {
        if self.slots.is_empty() {
            return;
        }
        let (next, slots) = self.slots.split_at_mut(self.len);
        next.fill(T::ZERO);
        let used = slots.chunks_exact(self.len).enumerate().filter(|(level, _)| self.blocks >> level & 1 == 1);
        for (_, slot) in used {
            next.iter_mut().zip(slot).for_each(|(sum, &other)| *sum += other);
        }
        self.blocks = 0;
    }
}
