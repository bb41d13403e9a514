//! Moves blocks one element at a time, small squares, so that cache lines stay cached.

use super::super::Element;
use super::{Factors, PermuteShare, walk};

/// # Safety
/// Same as for [`super::permute`], with one thread's share.
pub(super) unsafe fn share<T: Element>(share: PermuteShare<T>, Factors { alpha, beta }: Factors<T>) {
    // SAFETY: guaranteed by the caller; the destination is read only if `beta` is not 0.
    unsafe {
        if beta == T::ZERO {
            if alpha == T::ONE {
                each(share, |to, value| *to = value);
            } else {
                each(share, |to, value| *to = value.scaled(alpha));
            }
        } else if alpha == T::ONE && beta == T::ONE {
            each(share, |to, value| *to += value);
        } else {
            each(share, |to, value| *to = (*to).scaled(beta) + value.scaled(alpha));
        }
    }
}

/// # Safety
/// Same as for [`share`]. It is safe to call `merge` with a pointer to any destination element of the share.
#[inline(always)]
unsafe fn each<T: Element>(PermuteShare { plan, share, tensors, .. }: PermuteShare<T>, merge: impl Fn(*mut T, T)) {
    let wide = plan.widened();
    let scaled = |strides: [isize; 2]| strides.map(|stride| stride * wide as isize);
    let [along, across] = [&plan.blocks().cols, &plan.blocks().rows].map(|side| scaled(side.loops[0].strides));
    walk::blocks(plan, share, |offset, [cols, rows]| {
        let mut row = tensors.at(scaled(offset));
        for _ in 0..rows {
            let mut at = row;
            for _ in 0..cols {
                for part in 0..wide {
                    // SAFETY: one of `wide` adjacent elements that the plan moves as one unit of the caller's share.
                    unsafe { merge(at.to.wrapping_add(part), *at.from.wrapping_add(part)) };
                }
                at = at.at(along);
            }
            row = row.at(across);
        }
    });
}
