//! Represents the estimated cost of a contraction in one process, for loops and for matrix products.

/// The estimated cost of a contraction. Prices rank contractions of equal size; they do not predict run times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub nanoseconds: f64,
    /// Whether the estimate is reliable. This is the case if packed operands consist of contiguous runs and `out` is
    /// written in place. In other cases, measured times have differed from estimates by 50 %.
    pub reliable: bool,
}
