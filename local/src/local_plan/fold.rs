//! Loops over several tensors, fused if all strides allow it.
//!
//! Invariant: [`fold`] may only reorder the visited offset tuples.

use smallvec::SmallVec;

/// Loops, up to eight without a heap allocation.
pub type Loops<const N: usize> = SmallVec<[Dim<N>; 8]>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim<const N: usize> {
    pub extent: usize,
    pub strides: [isize; N],
}

impl<const N: usize> Dim<N> {
    pub(super) fn continues(&self, inner: &Self) -> bool {
        (0..N).all(|t| self.strides[t] == inner.strides[t] * inner.extent as isize)
    }
}

/// Also removes loops of extent 1.
pub fn fold<const N: usize>(mut dims: Vec<Dim<N>>) -> Vec<Dim<N>> {
    dims.retain(|dim| dim.extent != 1);
    while let Some((outer, inner)) = fusable(&dims) {
        dims[inner].extent *= dims[outer].extent;
        dims.remove(outer);
    }
    dims
}

fn fusable<const N: usize>(dims: &[Dim<N>]) -> Option<(usize, usize)> {
    (0..dims.len())
        .flat_map(|outer| (0..dims.len()).map(move |inner| (outer, inner)))
        .find(|&(outer, inner)| outer != inner && dims[outer].continues(&dims[inner]))
}

#[cfg(test)]
mod tests;
