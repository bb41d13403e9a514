//! Loops over strided memory: the index arithmetic, and copies that are planned on the spot.
//!
//! Nothing here knows what the dimensions mean.

use super::permute::{Factors, permute};
use super::{Element, widest};
use crate::local::{Dim, Permute};

/// Elements below which a second thread costs more than it gains.
const WORTH_THREADS: usize = 1 << 15;

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
pub(super) trait Combine<T> {
    fn factors(&self) -> Factors<T>;
}

/// to = value
pub(super) struct Put;
/// to = to + value
pub(super) struct Plus;
/// to = factor to + value
pub(super) struct ScalePlus<T>(pub T);

impl<T: Element> Combine<T> for Put {
    fn factors(&self) -> Factors<T> {
        Factors::PUT
    }
}

impl<T: Element> Combine<T> for Plus {
    fn factors(&self) -> Factors<T> {
        Factors::PLUS
    }
}

impl<T: Element> Combine<T> for ScalePlus<T> {
    fn factors(&self) -> Factors<T> {
        Factors { alpha: T::ONE, beta: self.0 }
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
    let plan = Permute::new(&dims, size_of::<T>(), threads);
    // SAFETY: the widest instruction set is available; the rest is the caller's promise.
    unsafe { permute(&plan, widest(), from, to, combine.factors()) }
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
