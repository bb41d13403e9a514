//! Counts a search's work in nominal seconds, so that budgets do not depend on the clock. The constants are rounded
//! measurements on a core of an AMD EPYC (AVX2).

/// Nominal seconds of a rotation with label sets of `words` words.
pub const fn rotation(words: usize) -> f64 {
    3e-8 + 2.5e-9 * words as f64
}

/// Nominal seconds to compute a node's labels, size and cost.
pub const fn refresh(words: usize) -> f64 {
    1.5e-7 + 1.5e-8 * words as f64
}

/// Nominal seconds to visit and price a split of a set of leaves.
pub const fn split(words: usize) -> f64 {
    1e-8 + 1e-9 * words as f64
}

/// Nominal seconds of a first order. Results of large networks have more labels.
pub fn start(tensors: f64) -> f64 {
    1e-5 * tensors * (1.0 + tensors / 4000.0)
}

/// Nominal seconds per tensor to take a window out of the tree and put it back.
pub const WINDOW: f64 = 1e-6;
