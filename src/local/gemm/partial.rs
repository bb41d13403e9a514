//! Where a partial sum lies that has the layout of out: threads that share the depth add theirs up at the end.
//!
//! Invariants: every offset that out has is inside; partial sums take no more memory than the threads' packed columns may.
//! Deliberately absent: another layout than out's, which would need tables of its own.

use super::choose::COLUMN_BYTES;
use crate::local::Dim;

/// The part of memory that out lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    /// From out's lowest element to its first.
    pub first: usize,
    /// From out's lowest element to behind its highest.
    pub len: usize,
}

impl Partial {
    /// For dimensions of kind c, m, n and k with their strides in left, right and out.
    pub(super) fn new(dims: &[Vec<Dim<3>>; 4]) -> Partial {
        let mut partial = Partial { first: 0, len: 1 };
        for dim in dims[..3].iter().flatten() {
            let reach = dim.strides[2].unsigned_abs() * (dim.extent - 1);
            partial.len += reach;
            partial.first += if dim.strides[2] < 0 { reach } else { 0 };
        }
        partial
    }

    /// How many parts the depth may be cut into; the first needs no partial sum.
    pub(super) fn most_parts(&self, element_bytes: usize, threads: usize) -> usize {
        1 + threads.saturating_mul(COLUMN_BYTES) / self.len.saturating_mul(element_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_out_is_inside() {
        let dim = |extent, out| Dim { extent, strides: [1, 1, out] };
        let partial = Partial::new(&[vec![], vec![dim(4, -5)], vec![dim(5, 1)], vec![dim(100, 0)]]);
        assert_eq!(partial, Partial { first: 15, len: 20 });
    }

    #[test]
    fn partial_sums_of_a_large_out_are_not_kept() {
        let most = |len| Partial { first: 0, len }.most_parts(4, 2);
        assert_eq!(most(184 * 184), 62);
        assert_eq!(most(1 << 20), 3);
        assert_eq!(most(10_000 * 10_000), 1);
    }
}
