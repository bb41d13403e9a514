//! Moves lines, which are contiguous in the destination, and contiguous or one repeated element in the source.
//!
//! Only complete cache lines are written past the caches.

use super::super::simd::{Merge, Real, RealBody, Simd, fence};
use super::{PermuteShare, Tensors, walk};
use crate::local_plan::{CACHE_LINE, CopyKind};

/// # Safety
/// Same as for [`super::permute`], with one thread's share.
pub(super) unsafe fn share<R: Real, M: Merge<R>>(share: PermuteShare<R>, merge: M) {
    let reals_per_unit = share.reals_per_unit();
    let (streams, spread) = match share.plan.kind() {
        CopyKind::Lines { streams } => (streams, false),
        kind => (false, kind == CopyKind::Spread),
    };
    let [from, to] = share.plan.blocks().rows.loops[0].strides.map(|stride| stride * reals_per_unit as isize);
    walk::blocks(share.plan, share.share, |offset, [cols, rows]| {
        let tensors = share.tensors.at(offset.map(|o| o * reals_per_unit as isize));
        let lines = Lines { tensors, from, to: Starts::Every(to), count: cols * reals_per_unit, rows, streams, merge };
        // SAFETY: the instruction set is available; the lines are a block of the caller's share.
        unsafe {
            if spread {
                R::dispatch(share.isa, Spread { lines, reals_per_unit })
            } else {
                R::dispatch(share.isa, lines)
            }
        }
    });
    if streams {
        fence();
    }
}

#[derive(Clone, Copy)]
pub(super) enum Starts<'a> {
    Every(isize),
    At(&'a [isize]),
}

/// `rows` lines with `count` reals each.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a, R, M> {
    pub tensors: Tensors<R>,
    pub from: isize,
    pub to: Starts<'a>,
    pub count: usize,
    pub rows: usize,
    /// Whether stores bypass the caches if the merge never reads the destination (`PUTS`); a fence must follow.
    pub streams: bool,
    pub merge: M,
}

impl<R: Real, M: Merge<R>> RealBody<R> for Lines<'_, R, M> {
    type Output = ();

    /// # Safety
    /// The processor must support the instruction set `S`. Sources must be readable, destinations must be accessible as
    /// `merge` requires, and sources and destinations must not overlap.
    #[inline(always)]
    unsafe fn run<S: Simd<R>>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            for row in 0..self.rows {
                let Tensors { from, to } = self.row(row);
                if self.streams && M::PUTS {
                    line::<S, R, M, true>(from, to, self.count, self.merge);
                } else {
                    line::<S, R, M, false>(from, to, self.count, self.merge);
                }
            }
        }
    }
}

impl<R: Copy, M> Lines<'_, R, M> {
    #[inline(always)]
    fn row(&self, row: usize) -> Tensors<R> {
        let to = match self.to {
            Starts::Every(stride) => row as isize * stride,
            Starts::At(table) => table[row],
        };
        self.tensors.at([row as isize * self.from, to])
    }
}

/// Lines that are each filled with one source element of `reals_per_unit` reals.
struct Spread<'a, R, M> {
    lines: Lines<'a, R, M>,
    reals_per_unit: usize,
}

impl<R: Real, M: Merge<R>> RealBody<R> for Spread<'_, R, M> {
    type Output = ();

    /// # Safety
    /// Same as for [`Lines`].
    #[inline(always)]
    unsafe fn run<S: Simd<R>>(self) {
        let Lines { count, merge, .. } = self.lines;
        for row in 0..self.lines.rows {
            let Tensors { from, to } = self.lines.row(row);
            // SAFETY: guaranteed by the caller. A vector has `reals_per_unit` to 16 lanes.
            unsafe {
                let mut lanes = [R::ZERO; 16];
                for (lane, real) in lanes.iter_mut().enumerate().take(S::LANES) {
                    *real = *from.add(lane % self.reals_per_unit);
                }
                let value = S::load(lanes.as_ptr());
                let mut i = 0;
                while i + S::LANES <= count {
                    merge.all::<S>(to.add(i), value);
                    i += S::LANES;
                }
                if i < count {
                    merge.first::<S>(to.add(i), value, count - i);
                }
            }
        }
    }
}

/// Merges `count` contiguous reals. `STREAM` bypasses the caches, which requires `M::PUTS` and a fence afterwards.
///
/// # Safety
/// Same as for [`Lines`].
#[inline(always)]
unsafe fn line<S: Simd<R>, R: Real, M: Merge<R>, const STREAM: bool>(
    from: *const R,
    to: *mut R,
    count: usize,
    merge: M,
) {
    let mut i = 0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        if STREAM {
            let head = (to.align_offset(CACHE_LINE)).min(count);
            while i < head {
                let some = S::LANES.min(head - i);
                merge.first::<S>(to.add(i), S::load_first(from.add(i), some), some);
                i += some;
            }
            let per_line = CACHE_LINE / size_of::<R>();
            while i + per_line <= count {
                for part in 0..per_line / S::LANES {
                    let at = i + part * S::LANES;
                    let value = S::load(from.add(at));
                    S::stream(to.add(at), merge.merge::<S>(value, value));
                }
                i += per_line;
            }
        }
        while i + 4 * S::LANES <= count {
            let (from, to) = (from.add(i), to.add(i));
            let (a, b) = (S::load(from), S::load(from.add(S::LANES)));
            let (c, d) = (S::load(from.add(2 * S::LANES)), S::load(from.add(3 * S::LANES)));
            merge.all::<S>(to, a);
            merge.all::<S>(to.add(S::LANES), b);
            merge.all::<S>(to.add(2 * S::LANES), c);
            merge.all::<S>(to.add(3 * S::LANES), d);
            i += 4 * S::LANES;
        }
        while i + S::LANES <= count {
            merge.all::<S>(to.add(i), S::load(from.add(i)));
            i += S::LANES;
        }
        if i < count {
            merge.first::<S>(to.add(i), S::load_first(from.add(i), count - i), count - i);
        }
    }
}
