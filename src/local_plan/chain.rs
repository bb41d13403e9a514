//! Bounds the number of additions, and thus of rounding errors, that affect each term of a sum in one process.
//!
//! The n terms of a sum are added in blocks of at most b terms, and the sums of the blocks are added pairwise, in a
//! binary tree. Each term then passes through a chain of at most b + log2(n / b) additions, and is rounded at most once
//! in each addition (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 2002, sections 4.2 and
//! 4.3). Every kernel of this crate sums in this way. Kernels differ in the length of a block. If a kernel keeps sums
//! in vectors, the length of a block is counted in vectors instead of terms. The following table lists the blocks. A
//! box is a cache block of a matrix product, and a step is one index of the summed dimensions.
//!
//! | sum | block | maximum number of additions in a chain |
//! |---|---|---|
//! | over one tensor ([`super::Sum`]) | 128 lines along `out`, or up to 256 KB along the sum in 128 chains of 64 vectors | 64 + 128 + lanes |
//! | one number from two tensors ([`super::SumBlocks`]) | up to 128 KB in 128 chains of 64 vectors, or up to 16 x 16 x 16 strided terms | 64 + 128 + lanes |
//! | other loops | 512 terms of a line, or 256 single terms | 350 |
//! | matrix products over one dimension | up to 128 boxes of up to 512 steps | 512 + 128 |
//! | matrix products over several dimensions | up to 128 boxes of up to 896 steps | 896 + 128 |
//!
//! Invariant: the lengths hold for every instruction set. The additions that combine parts of a sum from several
//! threads or ranks are not included; callers add them to the bound.

/// The longest chain within a block, for sums of one tensor and for contractions whose result is one number.
const NUMBER: u64 = 224;
/// The longest chain within a block, for contractions without rows or without columns. Such contractions are never
/// computed as matrix products.
const LOOPS: u64 = 384;
/// The longest chain within a block for all other contractions, with sums over one dimension (`PRODUCTS`) and over
/// several dimensions (`CROSSED`).
const PRODUCTS: u64 = 640;
const CROSSED: u64 = 1024;

/// Minimum number of terms in every chunk (range of terms) of a dot product except the last, and the maximum number of
/// chunks. A chunk has 8 KB or 16 KB of each operand. Sums over more than 128 KB are accumulated in a buffer, and not
/// chunk by chunk in `out`.
const MIN_CHUNK_TERMS: u64 = 512;
const MAX_CHUNKS: u64 = 16;
/// Minimum number of steps along k in every box except the last, and the maximum number of boxes whose sums are added
/// to `out` one after another.
const MIN_BOX_STEPS: u64 = 256;
const MAX_BOXES: u64 = 128;

/// The kind of operation that computes a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumKind {
    /// A sum over one tensor, or a contraction whose result is one number.
    Number,
    /// A contraction without rows or without columns.
    Loops,
    /// Any other contraction with a sum over one dimension.
    Products,
    /// Any other contraction with a sum over several dimensions.
    Crossed,
}

/// Returns the maximum number of additions that a term of a sum of `terms` terms passes through on one thread, before
/// the sum is added to `out`. Cost: O(1).
///
/// ```
/// use einsum_dist::local_plan::{SumKind, longest_chain};
/// assert_eq!(longest_chain(100, SumKind::Products), 100);
/// assert!(longest_chain(1_000_000_000, SumKind::Number) < 260);
/// ```
pub fn longest_chain(terms: u64, of: SumKind) -> u64 {
    let block = match of {
        SumKind::Number => NUMBER,
        SumKind::Loops => LOOPS,
        SumKind::Products => PRODUCTS,
        SumKind::Crossed => CROSSED,
    };
    // The binary tree may have two more levels than with full, evenly divided blocks, because a block may have only a
    // quarter of the maximum number of terms, or halves may be uneven.
    let levels = |terms: u64| u64::from(terms.div_ceil(block).next_power_of_two().trailing_zeros()) + 2;
    if terms <= block { terms } else { block + levels(terms) }
}

/// Returns the maximum number of additions to one element of `out` on one thread, when a sum of up to `terms` terms is
/// added to the element's old value. There is one addition if the sum is completed in a buffer first, and one per chunk
/// or box otherwise. Cost: O(1).
///
/// ```
/// use einsum_dist::local_plan::{SumKind, longest_visits};
/// assert_eq!(longest_visits(1 << 40, SumKind::Number), 1);
/// assert_eq!(longest_visits(100, SumKind::Loops), 1);
/// assert_eq!(longest_visits(1_000, SumKind::Products), 4);
/// ```
pub fn longest_visits(terms: u64, of: SumKind) -> u64 {
    match of {
        SumKind::Number => 1,
        SumKind::Loops => terms.div_ceil(MIN_CHUNK_TERMS).clamp(1, MAX_CHUNKS),
        // Each box causes one addition. The number of boxes is largest if every box has the minimum depth.
        SumKind::Products | SumKind::Crossed => terms.div_ceil(MIN_BOX_STEPS).clamp(1, MAX_BOXES),
    }
}
