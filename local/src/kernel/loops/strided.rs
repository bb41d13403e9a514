//! Executes loops with any strides, blocked so that cache lines are reused.

use super::Task;
use super::buffer::Buffer;
use super::update::{Factors, Visit};
use super::walk::Walk;
use crate::kernel::Element;
use crate::local_plan::{Dim, StridedNest};

pub(super) fn revisits(nest: &StridedNest) -> bool {
    let [a, b, inner] = nest.blocked;
    let sums = |dim: Dim<4>| dim.extent > 1 && dim.strides[3] != 0;
    !is_number(nest) && (!nest.sum.is_empty() || sums(a) || sums(b) || (sums(inner) && inner.extent > nest.sizes[2]))
}

fn is_number(nest: &StridedNest) -> bool {
    nest.outer.is_empty() && nest.blocked.iter().all(|dim| dim.extent == 1 || dim.strides[3] != 0)
}

/// # Safety
/// Same as for [`super::run`], with the loops of one thread's share.
pub(super) unsafe fn run<T: Element>(task: &Task<T, StridedNest>) {
    let nest = task.nest;
    if is_number(nest) {
        // SAFETY: guaranteed by the caller.
        return unsafe { number(task) };
    }
    let mut outer = Walk::new();
    loop {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match task.buffer {
                None => blocks(task, &nest.blocked, nest.blocked.map(|dim| [0, dim.extent]), outer.at()),
                Some(buffer) => tiles(task, buffer, outer.at()),
            }
        }
        if !outer.next(&nest.outer) {
            return;
        }
    }
}

/// Computes each tile of `out` in a buffer first.
///
/// # Safety
/// Same as for [`run`]. `start` contains the offsets of one iteration of the outer loops.
unsafe fn tiles<T: Element>(task: &Task<T, StridedNest>, buffer: *mut T, start: [isize; 4]) {
    let nest = task.nest;
    let size = |l: usize| if nest.blocked[l].strides[3] == 0 { nest.sizes[l] } else { nest.blocked[l].extent };
    let ends = nest.blocked.map(|dim| dim.extent);
    for i in (0..ends[0]).step_by(size(0)) {
        for j in (0..ends[1]).step_by(size(1)) {
            for l in (0..ends[2]).step_by(size(2)) {
                let from = [i, j, l];
                let ranges = [0, 1, 2].map(|dim| [from[dim], ends[dim].min(from[dim] + size(dim))]);
                // SAFETY: guaranteed by the caller for indices of the loops.
                unsafe { tile(task, buffer, ranges, start) };
            }
        }
    }
}

/// # Safety
/// Same as for [`tiles`]. `ranges` contains a range of each blocked loop.
unsafe fn tile<T: Element>(task: &Task<T, StridedNest>, buffer: *mut T, ranges: [[usize; 2]; 3], start: [isize; 4]) {
    let mut blocked = task.nest.blocked;
    // With strides in the buffer and in `out`.
    let mut out_loops = [Dim { extent: 1, strides: [0; 2] }; 3];
    let (mut elements, mut at, mut to) = (1, 0, start[2]);
    for ((dim, [from, end]), out_loop) in blocked.iter_mut().zip(ranges).zip(&mut out_loops).rev() {
        if dim.strides[3] == 0 {
            *out_loop = Dim { extent: end - from, strides: [elements as isize, dim.strides[2]] };
            to += from as isize * dim.strides[2];
            dim.strides[2] = elements as isize;
            at -= from as isize * dim.strides[2];
            elements *= end - from;
        }
    }
    assert!(elements <= Buffer::elements::<T>(), "blocks of out fit into a buffer");
    let factors = Factors::sum(task.factors.conjugated);
    let sums = Task { factors, out: buffer.wrapping_offset(at), buffer: None, ..*task };
    let visit = Visit::new(task.factors, true);
    let mut walk = Walk::new();
    // SAFETY: guaranteed by the caller; the loops write these elements of the buffer before they are read.
    unsafe {
        blocks(&sums, &blocked, ranges, [start[0], start[1], 0, 0]);
        loop {
            let [from, along] = walk.at();
            visit.one(task.out.wrapping_offset(to + along), *buffer.offset(from));
            if !walk.next(&out_loops) {
                return;
            }
        }
    }
}

/// # Safety
/// Same as for [`run`], with ranges of the blocked loops. `start` contains the offsets of one iteration of the outer
/// loops.
unsafe fn blocks<T: Element>(
    task: &Task<T, StridedNest>,
    [a, b, inner]: &[Dim<4>; 3],
    [[from_i, end_i], [from_j, end_j], [from_l, end_l]]: [[usize; 2]; 3],
    start: [isize; 4],
) {
    let nest = task.nest;
    let mut sum = Walk::new();
    loop {
        let start = std::array::from_fn(|t| start[t] + sum.at()[t]);
        for i in (from_i..end_i).step_by(nest.sizes[0]) {
            for j in (from_j..end_j).step_by(nest.sizes[1]) {
                for l in (from_l..end_l).step_by(nest.sizes[2]) {
                    for i in i..end_i.min(i + nest.sizes[0]) {
                        for j in j..end_j.min(j + nest.sizes[1]) {
                            let at = along(along(along(start, a, i), b, j), inner, l);
                            let count = nest.sizes[2].min(end_l - l);
                            // SAFETY: guaranteed by the caller for indices of the loops.
                            unsafe { innermost(task, Dim { extent: count, strides: inner.strides }, at) };
                        }
                    }
                }
            }
        }
        if !sum.next(&nest.sum) {
            return;
        }
    }
}

/// Computes a single element of `out` in the blocks of [`blocks`], whose sums are added pairwise.
///
/// # Safety
/// Same as for [`run`].
unsafe fn number<T: Element>(task: &Task<T, StridedNest>) {
    let nest = task.nest;
    let [a, b, inner] = nest.blocked;
    let (mut sum, mut pairs) = (Walk::new(), Pairs::new());
    loop {
        let start = sum.at();
        for i in (0..a.extent).step_by(nest.sizes[0]) {
            for j in (0..b.extent).step_by(nest.sizes[1]) {
                for l in (0..inner.extent).step_by(nest.sizes[2]) {
                    let count = nest.sizes[2].min(inner.extent - l);
                    let mut block = T::ZERO;
                    for i in i..a.extent.min(i + nest.sizes[0]) {
                        let mut row = T::ZERO;
                        for j in j..b.extent.min(j + nest.sizes[1]) {
                            let [x, y, ..] = along(along(along(start, &a, i), &b, j), &inner, l);
                            let (first, second) = (task.first.wrapping_offset(x), task.second.wrapping_offset(y));
                            let dim = Dim { extent: count, strides: inner.strides };
                            // SAFETY: guaranteed by the caller for indices of the loops.
                            row += unsafe { stretch(first, second, dim, task.factors.conjugated) };
                        }
                        block += row;
                    }
                    pairs.add(block);
                }
            }
        }
        if !sum.next(&nest.sum) {
            break;
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { Visit::new(task.factors, true).one(task.out, pairs.total()) }
}

/// A pairwise sum: partial sum i of 2^i terms exists if bit i of the number of terms is 1.
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

/// # Safety
/// The elements may be read.
#[inline(always)]
unsafe fn stretch<T: Element>(first: *const T, second: *const T, dim: Dim<4>, conjugated: [bool; 2]) -> T {
    let [x, y, ..] = dim.strides;
    // SAFETY: guaranteed by the caller for indices of the loop.
    let product = |i: usize| unsafe {
        product(*first.wrapping_offset(i as isize * x), *second.wrapping_offset(i as isize * y), conjugated)
    };
    let mut lanes = [T::ZERO; 4];
    let whole = dim.extent / 4 * 4;
    for i in (0..whole).step_by(4) {
        (0..4).for_each(|lane| lanes[lane] += product(i + lane));
    }
    (whole..dim.extent).for_each(|i| lanes[0] += product(i));
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

#[inline(always)]
fn product<T: Element>(first: T, second: T, [conj_first, conj_second]: [bool; 2]) -> T {
    let first = if conj_first { first.conjugate() } else { first };
    let second = if conj_second { second.conjugate() } else { second };
    first * second
}

#[inline(always)]
fn along(at: [isize; 4], dim: &Dim<4>, index: usize) -> [isize; 4] {
    let mut at = at;
    (0..4).for_each(|t| at[t] += dim.strides[t] * index as isize);
    at
}

/// # Safety
/// Same as for [`run`], for one loop that starts at the given offsets.
#[inline(always)]
unsafe fn innermost<T: Element>(task: &Task<T, StridedNest>, dim: Dim<4>, [x, y, o, terms]: [isize; 4]) {
    let (first, second) = (task.first.wrapping_offset(x), task.second.wrapping_offset(y));
    let out = task.out.wrapping_offset(o);
    let visit = Visit::new(task.factors, terms == 0);
    let [x, y, o, sum] = dim.strides;
    let conjugated = task.factors.conjugated;
    let product = |i: isize| {
        // SAFETY: guaranteed by the caller for indices of the loop.
        unsafe { product(*first.wrapping_offset(i * x), *second.wrapping_offset(i * y), conjugated) }
    };
    let extent = dim.extent as isize;
    // SAFETY: as above; dropped old values are not read.
    unsafe {
        if sum != 0 {
            visit.one(out, stretch(first, second, dim, conjugated));
        } else {
            (0..extent).for_each(|i| visit.one(out.wrapping_offset(i * o), product(i)));
        }
    }
}
