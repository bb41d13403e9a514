//! Loops over strided memory: the index arithmetic, and the two-tensor loops beneath copying, adding and summing.
//!
//! Nothing here knows what the dimensions mean.

use rayon::prelude::*;

use super::Element;
use super::pointer::{Const, Mut};
use crate::local::{Dim, fold, partition};

/// Elements below which a second thread costs more than it gains.
const WORTH_THREADS: usize = 1 << 15;
/// Side of a square that stays in the first-level cache while it is transposed.
const TILE: usize = 16;

/// Threads worth using for so many elements, on the current pool.
pub(super) fn threads_for(elements: usize) -> usize {
    if elements < WORTH_THREADS { 1 } else { rayon::current_num_threads() }
}

/// Visits the offsets of all indices, the last loop running fastest.
pub(super) fn for_each_offset<const N: usize>(dims: &[Dim<N>], mut visit: impl FnMut([isize; N])) {
    if dims.iter().any(|d| d.extent == 0) {
        return;
    }
    let mut index = vec![0; dims.len()];
    let mut offset = [0; N];
    loop {
        visit(offset);
        let mut at = dims.len();
        loop {
            if at == 0 {
                return;
            }
            at -= 1;
            let dim = &dims[at];
            index[at] += 1;
            if index[at] < dim.extent {
                (0..N).for_each(|t| offset[t] += dim.strides[t]);
                break;
            }
            index[at] = 0;
            (0..N).for_each(|t| offset[t] -= dim.strides[t] * (dim.extent as isize - 1));
        }
    }
}

/// What happens to an element of the destination when it meets one of the source.
pub(super) trait Combine<T>: Sync {
    /// # Safety
    /// `to` may be written, and read unless this only writes.
    unsafe fn combine(&self, to: *mut T, value: T);
}

/// to = value
pub(super) struct Put;
/// to = to + value
pub(super) struct Plus;
/// to = factor to + value
pub(super) struct ScalePlus<T>(pub T);

impl<T: Element> Combine<T> for Put {
    /// # Safety
    /// As the trait says.
    #[inline(always)]
    unsafe fn combine(&self, to: *mut T, value: T) {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) }
    }
}

impl<T: Element> Combine<T> for Plus {
    /// # Safety
    /// As the trait says.
    #[inline(always)]
    unsafe fn combine(&self, to: *mut T, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *to += value }
    }
}

impl<T: Element> Combine<T> for ScalePlus<T> {
    /// # Safety
    /// As the trait says.
    #[inline(always)]
    unsafe fn combine(&self, to: *mut T, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *to = self.0 * *to + value }
    }
}

/// Combines every element of the source (strides 0) with its element of the destination (strides 1).
///
/// # Safety
/// From `from`, every offset of `dims` reaches an element that may be read; from `to`, one that may be written and that
/// no other thread touches, and that holds a value unless `combine` only writes. Destination elements are distinct.
pub(super) unsafe fn zip<T: Element>(
    dims: Vec<Dim<2>>,
    from: *const T,
    to: *mut T,
    combine: &impl Combine<T>,
    threads: usize,
) {
    let dims = fold(dims);
    let axis = (0..dims.len()).max_by_key(|&i| (dims[i].extent >= threads, dims[i].strides[1].unsigned_abs()));
    let Some(axis) = axis.filter(|_| threads > 1) else {
        // SAFETY: the caller's promise.
        return unsafe { zip_serial(dims, from, to, combine) };
    };
    let (from, to) = (Const(from), Mut(to));
    // SAFETY: the pieces visit disjoint sets of indices and thus of destination elements.
    partition(&dims, axis, threads).into_par_iter().with_max_len(1).for_each(|([source, target], dims)| unsafe {
        zip_serial(dims, from.at(source), to.at(target), combine);
    });
}

/// # Safety
/// As for [`zip`].
unsafe fn zip_serial<T: Element>(mut dims: Vec<Dim<2>>, from: *const T, to: *mut T, combine: &impl Combine<T>) {
    dims.sort_by_key(|d| std::cmp::Reverse(d.strides[1].unsigned_abs()));
    let Some(inner) = dims.pop() else {
        // SAFETY: no loops: the one element that the caller promised.
        return unsafe { combine.combine(to, *from) };
    };
    let nearest = (0..dims.len()).min_by_key(|&i| dims[i].strides[0].unsigned_abs());
    let across = nearest.filter(|&i| dims[i].strides[0].unsigned_abs() < inner.strides[0].unsigned_abs());
    let across = across.map(|i| dims.remove(i));
    // SAFETY: each call visits the offsets of the inner loops, starting from one of the outer: all of them promised.
    for_each_offset(&dims, |[source, target]| unsafe {
        let (from, to) = (from.wrapping_offset(source), to.wrapping_offset(target));
        match across {
            Some(across) => square(across, inner, from, to, combine),
            None => line(inner, from, to, combine),
        }
    });
}

/// # Safety
/// As for [`zip`] with the one loop.
#[inline(always)]
unsafe fn line<T: Element>(dim: Dim<2>, from: *const T, to: *mut T, combine: &impl Combine<T>) {
    let [source, target] = dim.strides;
    // The steps are constants in the first two arms, which is what lets them become vector loops.
    // SAFETY: offsets of the one loop.
    unsafe {
        match (source, target) {
            (1, 1) => (0..dim.extent).for_each(|i| combine.combine(to.add(i), *from.add(i))),
            (0, 1) => (0..dim.extent).for_each(|i| combine.combine(to.add(i), *from)),
            _ => (0..dim.extent as isize)
                .for_each(|i| combine.combine(to.wrapping_offset(i * target), *from.wrapping_offset(i * source))),
        }
    }
}

/// Two loops at once, where the source is read best along `across` and the destination written best along `along`.
///
/// # Safety
/// As for [`zip`] with the two loops.
unsafe fn square<T: Element>(across: Dim<2>, along: Dim<2>, from: *const T, to: *mut T, combine: &impl Combine<T>) {
    let at = |i: usize, j: usize, t: usize| i as isize * across.strides[t] + j as isize * along.strides[t];
    for i in (0..across.extent).step_by(TILE) {
        for j in (0..along.extent).step_by(TILE) {
            for i in i..across.extent.min(i + TILE) {
                let rest = Dim { extent: TILE.min(along.extent - j), strides: along.strides };
                // SAFETY: offsets of the two loops.
                unsafe { line(rest, from.wrapping_offset(at(i, j, 0)), to.wrapping_offset(at(i, j, 1)), combine) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_come_in_order() {
        let dims = [Dim { extent: 2, strides: [10, 0] }, Dim { extent: 3, strides: [-1, 1] }];
        let mut seen = Vec::new();
        for_each_offset(&dims, |offset| seen.push(offset));
        assert_eq!(seen, [[0, 0], [-1, 1], [-2, 2], [10, 0], [9, 1], [8, 2]]);
    }

    #[test]
    fn no_loops_are_one_visit_and_an_empty_loop_is_none() {
        let mut visits = 0;
        for_each_offset::<1>(&[], |_| visits += 1);
        assert_eq!(visits, 1);
        for_each_offset(&[Dim { extent: 3, strides: [1] }, Dim { extent: 0, strides: [1] }], |_| visits += 1);
        assert_eq!(visits, 1);
    }
}
