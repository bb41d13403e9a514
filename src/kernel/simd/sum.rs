//! What the sums of a tile read.
//!
//! Invariant: everything of it may be read in whole vectors. Deliberately absent: adding up, which is each instruction
//! set's.

/// The sums of each column with each vector of rows; no tile has more. A complex column is two of real numbers: its real and
/// its imaginary parts.
pub type Sums<V> = [[V; 3]; 24];

/// For `depth` steps, the rows of left times the columns of right. Steps are in bytes.
///
/// # Safety
/// Whoever adds up promises that all of this may be read, in whole vectors.
pub struct Sum<R> {
    pub depth: usize,
    /// Rows of left lie side by side.
    pub left: *const R,
    pub left_step: isize,
    /// How far ahead of its use to ask the memory system for left, or 0.
    pub ahead: isize,
    pub right: *const R,
    pub right_step: isize,
    /// From one column to the next, which may be complex.
    pub column: isize,
    /// From where on to ask the memory system for lines.
    pub next: *const R,
}
