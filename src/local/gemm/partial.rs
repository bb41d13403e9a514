//! Where a partial sum lies that has the layout of out: threads that share the depth add theirs up at the end.
//!
//! Invariant: every offset that out has is inside. Deliberately absent: another layout than out's, which would need tables of
//! its own.

use crate::local::Dim;

/// The part of memory that out lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    /// From out's lowest element to its first.
    pub first: usize,
    /// From out's lowest element to behind its highest.
    pub len: usize,
    elements: usize,
}

impl Partial {
    /// For dimensions of kind c, m, n and k with their strides in left, right and out.
    pub(super) fn new(dims: &[Vec<Dim<3>>; 4]) -> Partial {
        let mut partial = Partial { first: 0, len: 1, elements: 1 };
        for dim in dims[..3].iter().flatten() {
            let reach = dim.strides[2].unsigned_abs() * (dim.extent - 1);
            partial.len += reach;
            partial.first += if dim.strides[2] < 0 { reach } else { 0 };
            partial.elements *= dim.extent;
        }
        partial
    }

    /// Whether there is not much memory in it that is none of out's.
    pub(super) fn is_dense(&self) -> bool {
        self.len <= 2 * self.elements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_out_is_inside() {
        let dim = |extent, out| Dim { extent, strides: [1, 1, out] };
        let partial = Partial::new(&[vec![], vec![dim(4, -5)], vec![dim(5, 1)], vec![dim(100, 0)]]);
        assert_eq!(partial, Partial { first: 15, len: 20, elements: 20 });
        assert!(partial.is_dense());
        assert!(!Partial::new(&[vec![], vec![dim(4, 500)], vec![dim(5, 1)], vec![]]).is_dense());
    }
}
