//! The estimated cost of a contraction on one process, as all ways to compute it state it.

/// The estimated cost of a contraction. It ranks contractions of one size, and is not a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub nanoseconds: f64,
    /// Whether packed operands are contiguous in runs and out is written in place. Other estimates have been off by
    /// half.
    pub reliable: bool,
}
