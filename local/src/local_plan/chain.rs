//! Bounds the additions, and thus roundings, of each term of a sum in one process (`docs/kernels.md`, and
//! `docs/check.md` for the source).
//!
//! Invariant: the lengths hold for every instruction set; callers add the combination of parts from threads or ranks.

/// The longest chains within a block, by [`SumKind`].
const NUMBER: u64 = 224;
const LOOPS: u64 = 384;
const PRODUCTS: u64 = 640;
const CROSSED: u64 = 1024;

/// Minimum terms in every chunk (range) of a dot product but the last, and the maximum chunks.
const MIN_CHUNK_TERMS: u64 = 512;
const MAX_CHUNKS: u64 = 16;
/// Minimum steps along k in every box but the last, and the maximum boxes added to `out` one after another.
const MIN_BOX_STEPS: u64 = 256;
const MAX_BOXES: u64 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumKind {
    /// A sum over one tensor, or a contraction to one number.
    Number,
    /// A contraction without rows or columns.
    Loops,
    /// Any other contraction with a sum over one dimension.
    Products,
    /// Any other contraction with a sum over several dimensions.
    Crossed,
}

/// Maximum additions of a term, of `terms` in a sum, on one thread before the sum is added to `out`. Cost: O(1).
pub fn longest_chain(terms: u64, of: SumKind) -> u64 {
    let block = match of {
        SumKind::Number => NUMBER,
        SumKind::Loops => LOOPS,
        SumKind::Products => PRODUCTS,
        SumKind::Crossed => CROSSED,
    };
    // Blocks of a quarter of the maximum, or uneven halves, may add two levels.
    let levels = |terms: u64| u64::from(terms.div_ceil(block).next_power_of_two().trailing_zeros()) + 2;
    if terms <= block { terms } else { block + levels(terms) }
}

/// Maximum additions to an old element of `out` on one thread: one if the sum is completed in a buffer, otherwise one
/// per chunk or box. Cost: O(1).
pub fn longest_visits(terms: u64, of: SumKind) -> u64 {
    match of {
        SumKind::Number => 1,
        SumKind::Loops => terms.div_ceil(MIN_CHUNK_TERMS).clamp(1, MAX_CHUNKS),
        SumKind::Products | SumKind::Crossed => terms.div_ceil(MIN_BOX_STEPS).clamp(1, MAX_BOXES),
    }
}
