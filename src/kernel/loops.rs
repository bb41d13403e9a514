//! A contraction as plain loops: for products too small or too thin for a matrix product.

use rayon::prelude::*;

use super::Element;
use super::pointer::{Const, Mut};
use super::strided::for_each_offset;
use crate::local::{Dim, LoopPlan};

/// out = out + alpha left right
///
/// # Safety
/// The offsets of the plan's loops reach elements of left and right that may be read, and elements of out that hold
/// values and that nobody else touches.
pub(super) unsafe fn run<T: Element>(plan: &LoopPlan, alpha: T, left: *const T, right: *const T, out: *mut T) {
    let (left, right, out) = (Const(left), Const(right), Mut(out));
    let part = |(start, kept): &([isize; 3], Vec<Dim<3>>)| {
        let [l, r, o] = *start;
        // SAFETY: parts visit disjoint elements of out.
        unsafe { run_part(kept, plan, alpha, left.at(l), right.at(r), out.at(o)) }
    };
    match plan.parts.as_slice() {
        [only] => part(only),
        parts => parts.par_iter().with_max_len(1).for_each(part),
    }
}

/// # Safety
/// As for [`run`], with the loops of one part.
unsafe fn run_part<T: Element>(
    kept: &[Dim<3>],
    plan: &LoopPlan,
    alpha: T,
    left: *const T,
    right: *const T,
    out: *mut T,
) {
    let (kept, sum, inner) = if plan.sum_inside {
        let (inner, sum) = plan.sum.split_last().map_or((None, &[][..]), |(inner, sum)| (Some(*inner), sum));
        (kept, sum, inner)
    } else {
        let (inner, kept) = kept.split_last().map_or((None, &[][..]), |(inner, kept)| (Some(*inner), kept));
        (kept, &plan.sum[..], inner)
    };
    let inner = inner.unwrap_or(Dim { extent: 1, strides: [0; 3] });
    let outer: Vec<_> = kept.iter().chain(sum).copied().collect();
    // SAFETY: the inner loop from one index of the outer ones: offsets that the caller promised.
    for_each_offset(&outer, |[l, r, o]| unsafe {
        let (left, right, out) = (left.wrapping_offset(l), right.wrapping_offset(r), out.wrapping_offset(o));
        if plan.sum_inside {
            *out += alpha * dot(inner, left, right);
        } else {
            update(inner, alpha, left, right, out);
        }
    });
}

/// The sum of products along one loop.
///
/// # Safety
/// The loop's offsets may be read.
unsafe fn dot<T: Element>(dim: Dim<3>, left: *const T, right: *const T) -> T {
    const LANES: usize = 16;
    let [l, r, _] = dim.strides;
    let mut lanes = [T::ZERO; LANES];
    let whole = dim.extent / LANES * LANES;
    // SAFETY: indices below the extent.
    unsafe {
        let term = |i: usize| *left.wrapping_offset(i as isize * l) * *right.wrapping_offset(i as isize * r);
        if (l, r) == (1, 1) {
            for i in (0..whole).step_by(LANES) {
                (0..LANES).for_each(|lane| lanes[lane] += *left.add(i + lane) * *right.add(i + lane));
            }
        } else {
            for i in (0..whole).step_by(LANES) {
                (0..LANES).for_each(|lane| lanes[lane] += term(i + lane));
            }
        }
        (whole..dim.extent).for_each(|i| lanes[i - whole] += term(i));
    }
    lanes.into_iter().fold(T::ZERO, |sum, lane| sum + lane)
}

/// out = out + alpha left right along one loop that moves out.
///
/// # Safety
/// The loop's offsets may be read in left and right, read and written in out.
unsafe fn update<T: Element>(dim: Dim<3>, alpha: T, left: *const T, right: *const T, out: *mut T) {
    let n = dim.extent;
    // Constant steps let the first three arms become vector loops.
    // SAFETY: offsets of the loop.
    unsafe {
        match dim.strides {
            [1, 1, 1] => (0..n).for_each(|i| *out.add(i) += alpha * (*left.add(i) * *right.add(i))),
            [1, 0, 1] => (0..n).for_each(|i| *out.add(i) += alpha * (*left.add(i) * *right)),
            [0, 1, 1] => (0..n).for_each(|i| *out.add(i) += alpha * (*left * *right.add(i))),
            [l, r, o] => (0..n as isize).for_each(|i| {
                let product = *left.wrapping_offset(i * l) * *right.wrapping_offset(i * r);
                *out.wrapping_offset(i * o) += alpha * product;
            }),
        }
    }
}
