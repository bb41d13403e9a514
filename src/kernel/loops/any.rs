//! Loops with any strides, one element at a time, blocked so that cache lines are reused before they are evicted.

use super::Task;
use super::update::Visit;
use super::walk::Walk;
use crate::kernel::Element;
use crate::local_plan::{Any, Dim};

/// # Safety
/// As for [`super::run`], with the loops of one share.
pub(super) unsafe fn run<T: Element>(task: &Task<T, Any>) {
    let any = task.nest;
    if any.outer.iter().chain(&any.blocked).all(|dim| dim.extent == 1 || dim.strides[3] != 0) {
        // SAFETY: the caller's promise.
        return unsafe { number(task) };
    }
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

/// Computes a single number, as all loops are of the sum: blocks as in [`run`], whose sums are added pairwise.
///
/// # Safety
/// As for [`run`].
unsafe fn number<T: Element>(task: &Task<T, Any>) {
    let any = task.nest;
    let [a, b, inner] = any.blocked;
    let (mut outer, mut pairs) = (Walk::new(), Pairs::new());
    loop {
        let start = outer.at();
        for i in (0..a.extent).step_by(any.sizes[0]) {
            for j in (0..b.extent).step_by(any.sizes[1]) {
                for l in (0..inner.extent).step_by(any.sizes[2]) {
                    let count = any.sizes[2].min(inner.extent - l);
                    let mut block = T::ZERO;
                    for i in i..a.extent.min(i + any.sizes[0]) {
                        let mut row = T::ZERO;
                        for j in j..b.extent.min(j + any.sizes[1]) {
                            let [x, y, ..] = along(along(along(start, &a, i), &b, j), &inner, l);
                            let (first, second) = (task.first.wrapping_offset(x), task.second.wrapping_offset(y));
                            // SAFETY: the caller's promise, for indices of the loops.
                            row += unsafe { stretch(first, second, Dim { extent: count, strides: inner.strides }) };
                        }
                        block += row;
                    }
                    pairs.add(block);
                }
            }
        }
        if !outer.next(&any.outer) {
            break;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { Visit::new(task.factors, true).one(task.out, pairs.total()) }
}

/// Pairwise sums of 1, 2, 4 and so on terms: at most one of each length, as in the binary digits of the number of
/// terms.
struct Pairs<T> {
    sums: [T; usize::BITS as usize],
    terms: usize,
}

impl<T: Element> Pairs<T> {
    fn new() -> Self {
        Pairs { sums: [T::ZERO; usize::BITS as usize], terms: 0 }
    }

    #[inline(always)]
    fn add(&mut self, term: T) {
        let carries = self.terms.trailing_ones() as usize;
        let sum = self.sums[..carries].iter().fold(term, |sum, &before| before + sum);
        self.sums[carries] = sum;
        self.terms += 1;
    }

    fn total(&self) -> T {
        let digits = (0..usize::BITS as usize).filter(|digit| self.terms >> digit & 1 == 1);
        digits.fold(T::ZERO, |sum, digit| self.sums[digit] + sum)
    }
}

/// The sum of the products of two stretches of elements.
///
/// # Safety
/// The elements may be read.
#[inline(always)]
unsafe fn stretch<T: Element>(first: *const T, second: *const T, dim: Dim<4>) -> T {
    let [x, y, ..] = dim.strides;
    // SAFETY: the caller's promise, for indices of the loop.
    let product =
        |i: usize| unsafe { *first.wrapping_offset(i as isize * x) * *second.wrapping_offset(i as isize * y) };
    let mut lanes = [T::ZERO; 4];
    let whole = dim.extent / 4 * 4;
    for i in (0..whole).step_by(4) {
        (0..4).for_each(|lane| lanes[lane] += product(i + lane));
    }
    (whole..dim.extent).for_each(|i| lanes[0] += product(i));
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

#[inline(always)]
fn along(at: [isize; 4], dim: &Dim<4>, index: usize) -> [isize; 4] {
    let mut at = at;
    (0..4).for_each(|t| at[t] += dim.strides[t] * index as isize);
    at
}

/// # Safety
/// As for [`run`], with one loop that starts at an offset.
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
    // SAFETY: as above, for out; an element whose old value is dropped is only written.
    unsafe {
        if sum != 0 {
            visit.one(out, stretch(first, second, dim));
        } else {
            (0..extent).for_each(|i| visit.one(out.wrapping_offset(i * o), product(i)));
        }
    }
}
