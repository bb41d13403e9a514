//! Computes the sums of one block with factors that are picked from [`Windows`].

use super::super::loops::{Factors, Lanes, Vectors, Visit};
use super::super::simd::{fence, prefetch};
use crate::local_plan::{CACHE_LINE, PATTERNS, Pick, Windows};

/// The prefetch distance in bytes.
const AHEAD: usize = 4096;
const OUT: usize = 2;

/// Copies a constant second operand in the order of all vectors.
/// # Safety
/// The elements must be readable, and the first part of the workspace writable.
pub(super) unsafe fn constants<T: Copy>(windows: &Windows, from: *const T, workspace: *mut T) {
    for (i, &offset) in windows.constants.iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { *workspace.add(i) = *from.offset(offset) }
    }
}

/// Merges the products of `lanes` lanes into `out`, after [`constants`].
///
/// # Safety
/// The processor must support the instruction set `S`. For these lanes, the elements of all tensors may be read or
/// written, and the workspace has all parts.
///
/// # Panics
/// If the plan is for vectors of another length.
#[inline(always)]
pub(super) unsafe fn block<S, T: Lanes<S>>(
    windows: &Windows,
    factors: Factors<T>,
    tensors: [*mut T; 3],
    lanes: usize,
    workspace: *mut T,
) {
    let Windows { length, rows, sizes, edge, .. } = *windows;
    assert_eq!(length, T::LANES, "a plan for vectors of another length");
    let whole = lanes.saturating_sub(edge) / rows;
    let [rest, done] = [lanes - whole * rows, whole * rows];
    let [constants, first, second, _] = windows.parts();
    let parts = [constants, constants + first, constants + first + second];
    let parts = parts.map(|part| workspace.wrapping_add(part));
    let fits = tensors[OUT].addr().is_multiple_of(T::LANES * size_of::<T>());
    let streams = windows.streams && fits && factors.beta == T::ZERO;
    // SAFETY: guaranteed by the caller. Tensors have no gaps. Windows of whole patterns end at most `edge` lanes beyond
    // them, before the block ends. The rest, at most `windows.rest()` lanes, and `edge` lanes more, are copied to parts
    // of their own.
    unsafe {
        let run = Patterns { windows, vectors: Visit::new(factors, true).vectors::<S>(), constants: workspace };
        run.all(tensors, whole, streams);
        if streams {
            fence();
        }
        let tails = [0, 1, OUT].map(|t| tensors[t].wrapping_add(done * sizes[t]));
        for t in 0..if factors.beta == T::ZERO { OUT } else { 3 } {
            tails[t].copy_to_nonoverlapping(parts[t], rest * sizes[t]);
        }
        run.all(parts, rest.div_ceil(rows), false);
        tails[OUT].copy_from_nonoverlapping(parts[OUT], rest * sizes[OUT]);
    }
}

pub(super) struct Patterns<'a, S, T: Lanes<S>> {
    pub windows: &'a Windows,
    pub vectors: Vectors<S, T>,
    pub constants: *const T,
}

impl<S, T: Lanes<S>> Patterns<'_, S, T> {
    /// # Safety
    /// The processor must support the instruction set `S`. The windows of these patterns are readable, and their
    /// elements of `out` may be read or written.
    #[inline(always)]
    unsafe fn all(&self, tensors: [*mut T; 3], patterns: usize, streams: bool) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if self.windows.segment > 1 {
                self.segments(tensors, patterns, streams);
            } else if self.windows.constants.is_empty() {
                self.some::<1, true>(
                    self.some::<PATTERNS, true>(tensors, patterns, streams),
                    patterns % PATTERNS,
                    streams,
                );
            } else {
                self.some::<1, false>(
                    self.some::<PATTERNS, false>(tensors, patterns, streams),
                    patterns % PATTERNS,
                    streams,
                );
            }
        }
    }

    /// Computes a multiple of `N` patterns, and returns where the next one starts.
    ///
    /// # Safety
    /// Same as for [`Patterns::all`].
    #[inline(always)]
    unsafe fn some<const N: usize, const EACH: bool>(
        &self,
        mut tensors: [*mut T; 3],
        patterns: usize,
        streams: bool,
    ) -> [*mut T; 3] {
        let Windows { rows, vectors, sizes, ref picks, .. } = *self.windows;
        let (terms, steps) = (picks.len() / vectors, sizes.map(|size| rows * size));
        let ahead = steps.map(|step| N * step * size_of::<T>() / vectors);
        for _ in 0..patterns / N {
            // SAFETY: guaranteed by the caller.
            unsafe { self.run::<N, EACH>(tensors, terms, steps, ahead, streams) };
            (0..3).for_each(|t| tensors[t] = tensors[t].wrapping_add(N * steps[t]));
        }
        tensors
    }

    /// Computes `N` adjacent patterns; each vector fetches `ahead` bytes.
    ///
    /// # Safety
    /// Same as for [`Patterns::all`].
    #[inline(always)]
    unsafe fn run<const N: usize, const EACH: bool>(
        &self,
        [first, second, out]: [*mut T; 3],
        terms: usize,
        steps: [usize; 3],
        ahead: [usize; 3],
        streams: bool,
    ) {
        let mut constant = self.constants;
        for (vector, picks) in self.windows.picks.chunks_exact(terms).enumerate() {
            fetch([first, second], vector, ahead);
            // SAFETY: guaranteed by the caller.
            unsafe {
                let mut sums = [T::none(); N];
                for [one, other] in picks {
                    let factors = one.windows::<S, T, N>(first, steps[0]);
                    if EACH {
                        let others = other.windows::<S, T, N>(second, steps[1]);
                        for n in 0..N {
                            sums[n] = T::plus_times(T::each(others[n]), factors[n], sums[n]);
                        }
                    } else {
                        let same = T::each(T::load(constant));
                        for n in 0..N {
                            sums[n] = T::plus_times(same, factors[n], sums[n]);
                        }
                        constant = constant.wrapping_add(T::LANES);
                    }
                }
                let at = |n: usize| out.wrapping_add(n * steps[OUT] + vector * T::LANES);
                if streams {
                    for (n, &sum) in sums.iter().enumerate() {
                        self.vectors.stream(at(n), sum);
                    }
                } else {
                    for (n, &sum) in sums.iter().enumerate() {
                        self.vectors.full(at(n), sum);
                    }
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn fetch<T>(operands: [*mut T; 2], vector: usize, ahead: [usize; 3]) {
    for (from, bytes) in operands.into_iter().zip(ahead) {
        let next = from.cast::<u8>().wrapping_add(AHEAD + vector * bytes);
        (0..bytes).step_by(CACHE_LINE).for_each(|at| prefetch(next.wrapping_add(at)));
    }
}

impl Pick {
    /// What is picked from the windows of `N` patterns, `step` elements apart.
    ///
    /// # Safety
    /// Same as for [`Patterns::all`].
    #[inline(always)]
    unsafe fn windows<S, T: Lanes<S>, const N: usize>(&self, pattern: *const T, step: usize) -> [T::Vector; N] {
        let [first, second] = self.at;
        let (mut from, mut next) = (pattern.wrapping_offset(first), pattern.wrapping_offset(second));
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut picked = [T::load(from); N];
            if first == second {
                for vector in &mut picked {
                    *vector = T::pick_within(T::load(from), &self.words);
                    from = from.wrapping_add(step);
                }
            } else {
                for vector in &mut picked {
                    *vector = T::pick(T::load(from), T::load(next), &self.words);
                    (from, next) = (from.wrapping_add(step), next.wrapping_add(step));
                }
            }
            picked
        }
    }
}
