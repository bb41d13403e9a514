//! Loops with any steps, one element at a time, blocked so that a cache line is used while it is there.

use super::Task;
use super::update::Visit;
use super::walk::Walk;
use crate::kernel::Element;
use crate::local::{Any, Dim};

/// # Safety
/// As for [`super::run`], with the loops of one share.
pub(super) unsafe fn run<T: Element>(task: &Task<T, Any>) {
    let any = task.nest;
    let [a, b, inner] = any.blocked;
    let mut outer = Walk::new();
    loop {
        let start = outer.at();
        for i in (0..a.extent).step_by(any.sizes[0]) {
            for j in (0..b.extent).step_by(any.sizes[1]) {
                for l in (0..inner.extent).step_by(any.sizes[2]) {
                    for i in i..a.extent.min(i + any.sizes[0]) {
                        for j in j..b.extent.min(j + any.sizes[1]) {
                            let at = along(along(along(start, &a, i), &b, j), &inner, l);
                            let count = any.sizes[2].min(inner.extent - l);
                            // SAFETY: the caller's promise, for indices of the loops.
                            unsafe { innermost(task, Dim { extent: count, strides: inner.strides }, at) };
                        }
                    }
                }
            }
        }
        if !outer.next(&any.outer) {
            return;
        }
    }
}

#[inline(always)]
fn along(at: [isize; 4], dim: &Dim<4>, index: usize) -> [isize; 4] {
    let mut at = at;
    (0..4).for_each(|t| at[t] += dim.strides[t] * index as isize);
    at
}

/// # Safety
/// As for [`run`], with the one loop from an offset.
#[inline(always)]
unsafe fn innermost<T: Element>(task: &Task<T, Any>, dim: Dim<4>, [x, y, o, terms]: [isize; 4]) {
    let (first, second) = (task.first.wrapping_offset(x), task.second.wrapping_offset(y));
    let out = task.out.wrapping_offset(o);
    let visit = Visit::new(task.factors, terms == 0);
    let [x, y, o, sum] = dim.strides;
    let product = |i: isize| {
        // SAFETY: the caller's promise, for indices of the loop.
        unsafe { *first.wrapping_offset(i * x) * *second.wrapping_offset(i * y) }
    };
    let extent = dim.extent as isize;
    // SAFETY: as above, for out; one that is dropped is written only.
    unsafe {
        if sum != 0 {
            let mut lanes = [T::ZERO; 4];
            let whole = extent / 4 * 4;
            for i in (0..whole).step_by(4) {
                (0..4).for_each(|lane| lanes[lane] += product(i + lane as isize));
            }
            (whole..extent).for_each(|i| lanes[0] += product(i));
            visit.one(out, (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
        } else {
            (0..extent).for_each(|i| visit.one(out.wrapping_offset(i * o), product(i)));
        }
    }
}
