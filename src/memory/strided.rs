//! Extents and strides, in elements, of an array or a box in it.
//!
//! Invariant: `extents` and `strides` have the same length. Strides may be zero or negative.

use std::ops::Range;

use smallvec::SmallVec;

/// One number per dimension, up to four inline.
pub(super) type PerDim<N> = SmallVec<[N; 4]>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strided {
    pub extents: PerDim<usize>,
    pub strides: PerDim<isize>,
}

impl Strided {
    pub fn row_major(extents: &[usize]) -> Strided {
        let mut strides = PerDim::from_elem(0, extents.len());
        let mut step = 1isize;
        for (stride, &extent) in strides.iter_mut().zip(extents).rev() {
            *stride = step;
            step = step.saturating_mul(extent.max(1) as isize);
        }
        Strided { extents: extents.into(), strides }
    }

    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    pub fn slice(&self, bounds: &[Range<usize>]) -> (isize, Strided) {
        debug_assert!(bounds.len() == self.extents.len());
        let offset = bounds.iter().zip(&self.strides).map(|(b, &s)| b.start as isize * s).sum();
        (offset, Strided { extents: bounds.iter().map(|b| b.len()).collect(), strides: self.strides.clone() })
    }

    /// The trailing dimensions in one dense run, and its elements.
    pub fn dense_suffix(&self) -> (usize, usize) {
        let (mut dims, mut run) = (0, 1usize);
        for (&extent, &stride) in self.extents.iter().zip(&self.strides).rev() {
            if extent != 1 && stride != run as isize {
                break;
            }
            dims += 1;
            run *= extent;
        }
        (dims, run)
    }

    pub fn is_dense(&self) -> bool {
        self.elements() == 0 || self.dense_suffix().0 == self.extents.len()
    }

    /// Calls `visit(offset)` for every index of the leading `dims` dimensions in row-major order.
    pub fn for_each_leading(&self, dims: usize, mut visit: impl FnMut(isize)) {
        Strided::for_each_leading_of([self], dims, |[offset]| visit(offset));
    }

    /// Like [`Strided::for_each_leading`], for arrays with equal leading extents.
    pub fn for_each_leading_of<const N: usize>(arrays: [&Self; N], dims: usize, mut visit: impl FnMut([isize; N])) {
        let extents = arrays.first().map_or(&[][..], |array| &array.extents[..dims]);
        debug_assert!(arrays.iter().all(|array| array.extents[..dims] == *extents));
        if extents.contains(&0) {
            return;
        }
        let mut index = vec![0usize; dims];
        let mut offsets = [0isize; N];
        loop {
            visit(offsets);
            let mut d = dims;
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                index[d] += 1;
                (0..N).for_each(|t| offsets[t] += arrays[t].strides[d]);
                if index[d] < extents[d] {
                    break;
                }
                (0..N).for_each(|t| offsets[t] -= arrays[t].strides[d] * index[d] as isize);
                index[d] = 0;
            }
        }
    }
}

/// A box, leased from a buffer of this process or mapped from another. Its address and shape do not change.
pub(super) trait Located {
    fn start(&self) -> *mut u8;

    fn strided(&self) -> &Strided;

    fn element(&self) -> usize;
}
