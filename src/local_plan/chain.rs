//! How many additions an element of a sum goes through, at most, on one process.
//!
//! A sum of n terms in blocks of at most b, of which pairs are added, pairs of these and so on, has chains of
//! b + log2(n / b) additions; one of its terms is rounded that often and no more (N. J. Higham, Accuracy and Stability of
//! Numerical Algorithms, 2nd edition, 2002, sections 4.2 and 4.3). Every kernel of this crate sums like this; they differ in
//! the length of a block, which for kernels that keep sums in vectors counts vectors:
//!
//! | sum | a block | added one after the other, at most |
//! |---|---|---|
//! | of one tensor ([`super::Sum`]) | 128 lines side by side, or up to 256 KB along the sum in 128 chains of 64 | 64 + 128 + lanes |
//! | one number from two tensors ([`super::SumBlocks`]) | up to 128 KB in 128 chains of 64, or 128 stretches | 64 + 128 + lanes |
//! | other loops | 512 terms of a line, 256 single ones | 350 |
//! | matrix products over one dimension | up to 128 boxes of up to 512 steps | 512 + 128 |
//! | matrix products over several | the same of up to 896 steps | 896 + 128 |
//!
//! Invariant: the lengths hold for every instruction set. Deliberately absent: parts of a sum that other threads or ranks
//! have, which callers add.

/// Of sums of one tensor, and of sums of products that are one number.
const NUMBER: u64 = 224;
/// Of vectors and scalars, which are never computed as matrix products.
const LOOPS: u64 = 384;
/// Of all others, over one dimension and over several.
const PRODUCTS: u64 = 640;
const CROSSED: u64 = 1024;

/// Terms of a line from which it is summed in blocks, at most.
const LONGEST_LINE: u64 = 512;
/// Steps of the shallowest boxes that are not the last, and how many boxes follow each other.
const SHALLOW: u64 = 256;
const BOXES: u64 = 128;

/// What a sum is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumOf {
    /// Sums over one tensor, or a contraction whose result is one number.
    Number,
    /// A contraction without rows or without columns.
    Loops,
    /// Any other contraction over one dimension.
    Products,
    /// Any other contraction over several.
    Crossed,
}

/// Most additions that a term of a sum goes through before it reaches out, on one thread. Cost: constant.
///
/// ```
/// use einsum_dist::local_plan::{SumOf, longest_chain};
/// assert_eq!(longest_chain(100, SumOf::Products), 100);
/// assert!(longest_chain(1_000_000_000, SumOf::Number) < 260);
/// ```
pub fn longest_chain(terms: u64, of: SumOf) -> u64 {
    let block = match of {
        SumOf::Number => NUMBER,
        SumOf::Loops => LOOPS,
        SumOf::Products => PRODUCTS,
        SumOf::Crossed => CROSSED,
    };
    // Blocks may be as short as a quarter of the longest one's terms, or halves uneven: two more levels.
    let levels = |terms: u64| u64::from(terms.div_ceil(block).next_power_of_two().trailing_zeros()) + 2;
    if terms <= block { terms } else { block + levels(terms) }
}

/// Most additions that out goes through where a sum of so many terms, from the fewest to the most, is added onto it on one
/// thread: blocks of long sums meet before they reach out, terms of short ones may not. Cost: constant.
///
/// ```
/// use einsum_dist::local_plan::{SumOf, longest_visits};
/// assert_eq!(longest_visits(100, 100, SumOf::Products), 1);
/// assert_eq!(longest_visits(100, 100, SumOf::Loops), 100);
/// assert_eq!(longest_visits(1 << 20, 1 << 20, SumOf::Loops), 1);
/// ```
pub fn longest_visits(fewest: u64, most: u64, of: SumOf) -> u64 {
    match of {
        SumOf::Number => 1,
        SumOf::Loops if fewest > LONGEST_LINE => 1,
        SumOf::Loops => most.clamp(1, LOOPS),
        // One for each box that is as shallow as boxes are.
        SumOf::Products | SumOf::Crossed => most.div_ceil(SHALLOW).clamp(1, BOXES),
    }
}
