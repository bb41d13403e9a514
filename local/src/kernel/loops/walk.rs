//! Iterates over the offsets of nested loops without allocating.

use crate::local_plan::Dim;

/// No program could finish more loops of extent 2 or more.
const MAX_LOOPS: usize = 64;

/// No loop has extent 0, and only a few have extent 1.
#[derive(Debug)]
pub(super) struct Walk<const N: usize> {
    index: [usize; MAX_LOOPS],
    at: [isize; N],
}

impl<const N: usize> Walk<N> {
    #[inline(always)]
    pub fn new() -> Self {
        Walk { index: [0; MAX_LOOPS], at: [0; N] }
    }

    #[inline(always)]
    pub fn at(&self) -> [isize; N] {
        self.at
    }

    /// The last loop is fastest; returns `false` after the last position, and starts again.
    #[inline(always)]
    pub fn next(&mut self, dims: &[Dim<N>]) -> bool {
        for (dim, index) in dims.iter().zip(&mut self.index).rev() {
            *index += 1;
            if *index < dim.extent {
                (0..N).for_each(|t| self.at[t] += dim.strides[t]);
                return true;
            }
            *index = 0;
            (0..N).for_each(|t| self.at[t] -= dim.strides[t] * (dim.extent as isize - 1));
        }
        false
    }
}

#[cfg(test)]
mod tests;
