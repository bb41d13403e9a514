//! Computes vectors of `out`: adds up products of adjacent terms in segments of [`Windows::segment`] lanes.

use super::super::loops::Lanes;
use super::super::simd::half;
use super::pick::steps;
use super::windows::{Patterns, fetch};
use crate::local_plan::{MAX_ODD_SEGMENT, MAX_SEGMENT, Pick, Windows};

/// Maximum vectors of a segment after additions of pairs.
const MAX_PARTS: usize = MAX_SEGMENT / 4;

impl<S, T: Lanes<S>> Patterns<'_, S, T> {
    /// # Safety
    /// Same as for [`Patterns::all`].
    #[inline(always)]
    pub(super) unsafe fn segments(&self, tensors: [*mut T; 3], patterns: usize, streams: bool) {
        let Windows { segment, plain, .. } = *self.windows;
        assert!(!T::PORTABLE, "segments of portable vectors");
        macro_rules! for_pairs {
            ($plain:literal, $each:literal, $other:literal) => {
                match segment.trailing_zeros() {
                    0 => self.segmented::<0, $plain, $each, $other>(tensors, patterns, streams),
                    1 => self.segmented::<1, $plain, $each, $other>(tensors, patterns, streams),
                    _ => self.segmented::<2, $plain, $each, $other>(tensors, patterns, streams),
                }
            };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            match (plain[0], self.windows.constants.is_empty(), plain[1]) {
                (true, false, _) => for_pairs!(true, false, true),
                (true, true, true) => for_pairs!(true, true, true),
                (true, true, false) => for_pairs!(true, true, false),
                (false, false, _) => for_pairs!(false, false, true),
                (false, true, _) => for_pairs!(false, true, false),
            }
        }
    }

    /// The same, with `LEVELS` additions of pairs. `PLAIN` and `OTHER` state whether the first and the second operand's
    /// factors are windows, and `EACH` whether the second operand's vary.
    ///
    /// # Safety
    /// Same as for [`Patterns::all`].
    #[inline(always)]
    unsafe fn segmented<const LEVELS: usize, const PLAIN: bool, const EACH: bool, const OTHER: bool>(
        &self,
        mut tensors: [*mut T; 3],
        patterns: usize,
        streams: bool,
    ) {
        let Windows { rows, vectors, sizes, segment, ref picks, .. } = *self.windows;
        let pattern = sizes.map(|size| rows * size);
        let ahead = pattern.map(|step| step * size_of::<T>() / vectors);
        // SAFETY: guaranteed by the caller.
        let mut parts = [unsafe { T::none() }; MAX_PARTS];
        for _ in 0..patterns {
            let [first, second, out] = tensors;
            let mut constant = self.constants;
            for vector in 0..vectors {
                // `chunks_exact` divides, which would take as long as a short segment.
                let picks = &picks[vector * segment..][..segment];
                // Two operands in order arrive sooner if the processor alone fetches them.
                if !(PLAIN && EACH && OTHER) {
                    fetch([first, second], vector, ahead);
                }
                let at = out.wrapping_add(vector * T::LANES);
                // SAFETY: guaranteed by the caller; each product has a constant.
                unsafe {
                    for (part, picks) in parts.iter_mut().zip(picks.chunks_exact(1 << LEVELS)) {
                        let operands = [first.cast_const(), second];
                        let factors = |i: usize| (&picks[i], constant.wrapping_add(i * T::LANES));
                        macro_rules! product {
                            ($i:literal) => {
                                Self::product::<PLAIN, EACH, OTHER>(factors($i), operands)
                            };
                        }
                        *part = match LEVELS {
                            0 => product!(0),
                            1 => Self::pairs(product!(0), product!(1)),
                            _ => {
                                let (lower, upper) =
                                    (Self::pairs(product!(0), product!(1)), Self::pairs(product!(2), product!(3)));
                                Self::pairs(lower, upper)
                            }
                        };
                        constant = constant.wrapping_add(T::LANES << LEVELS);
                    }
                    let sum = Self::sum(&mut parts, segment >> LEVELS);
                    if streams { self.vectors.stream(at, sum) } else { self.vectors.full(at, sum) }
                }
            }
            (0..3).for_each(|t| tensors[t] = tensors[t].wrapping_add(pattern[t]));
        }
    }

    /// # Safety
    /// Same as for [`Patterns::all`], with constants at the pointer unless `EACH`.
    #[inline(always)]
    unsafe fn product<const PLAIN: bool, const EACH: bool, const OTHER: bool>(
        ([one, other], constant): (&[Pick; 2], *const T),
        [first, second]: [*const T; 2],
    ) -> T::Sum {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let factor = one.window::<S, T, PLAIN>(first);
            let other = if EACH { other.window::<S, T, OTHER>(second) } else { T::load(constant) };
            T::times(T::each(other), factor)
        }
    }

    /// Adds each pair of adjacent lanes of two vectors.
    ///
    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    unsafe fn pairs(a: T::Sum, b: T::Sum) -> T::Sum {
        let [even, odd] = const {
            let (words, p) = (T::LANES * size_of::<T>() / 4, size_of::<T>() / 4);
            &[half(words, p, 0), half(words, p, 1)]
        };
        // SAFETY: guaranteed by the caller.
        unsafe { T::merge(T::pick_sums(a, b, even), T::pick_sums(a, b, odd)) }
    }

    /// Adds up segments of `count` adjacent lanes in as many vectors.
    ///
    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    unsafe fn sum(parts: &mut [T::Sum; MAX_PARTS], mut count: usize) -> T::Sum {
        // SAFETY: guaranteed by the caller.
        unsafe {
            while count.is_multiple_of(2) {
                count /= 2;
                for i in 0..count {
                    parts[i] = Self::pairs(parts[2 * i], parts[2 * i + 1]);
                }
            }
            match count {
                1 => parts[0],
                3 => Self::odd::<3>(parts),
                _ => {
                    const { assert!(MAX_ODD_SEGMENT == 5) };
                    Self::odd::<5>(parts)
                }
            }
        }
    }

    /// # Safety
    /// The processor must support the instruction set `S`.
    #[inline(always)]
    unsafe fn odd<const COUNT: usize>(parts: &[T::Sum; MAX_PARTS]) -> T::Sum {
        let table = const { &steps(T::LANES * size_of::<T>() / 4, COUNT, size_of::<T>() / 4, false) };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut total = T::none();
            for words in table.iter().take(COUNT) {
                let mut column = parts[0];
                for step in 1..COUNT {
                    column = T::pick_sums(column, parts[step], &words[step]);
                }
                total = T::merge(total, column);
            }
            total
        }
    }
}

impl Pick {
    /// # Safety
    /// Same as for [`Patterns::all`].
    #[inline(always)]
    unsafe fn window<S, T: Lanes<S>, const PLAIN: bool>(&self, pattern: *const T) -> T::Vector {
        let [first, second] = self.at.map(|at| pattern.wrapping_offset(at));
        // SAFETY: guaranteed by the caller.
        unsafe {
            let window = T::load(first);
            match PLAIN {
                true => window,
                _ if first == second => T::pick_within(window, &self.words),
                _ => T::pick(window, T::load(second), &self.words),
            }
        }
    }
}
