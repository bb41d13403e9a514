//! Loops over strided memory: the index arithmetic.
//!
//! Nothing here knows what the dimensions mean.

use crate::local::Dim;

/// Elements below which a second thread costs more than it gains.
const WORTH_THREADS: usize = 1 << 15;

/// Threads worth using for so many elements, on the current pool.
pub(super) fn threads_for(elements: usize) -> usize {
    if elements < WORTH_THREADS { 1 } else { rayon::current_num_threads() }
}

/// How many of these threads are worth using for so many elements.
pub(super) fn worth(threads: usize, elements: usize) -> usize {
    if elements < WORTH_THREADS { 1 } else { threads.max(1) }
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
