//! Represents the estimated cost of a contraction in one process.

/// The estimated cost of a contraction, which ranks contractions of equal size and predicts no run times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub nanoseconds: f64,
    /// Whether packed operands are contiguous runs and `out` is written in place; elsewhere, times differed by 50 %.
    pub reliable: bool,
}
