//! What the sums of a tile read, and how that lies.
//!
//! A complex column is two real ones here, its real and its imaginary parts.

/// The sums of each real column with each vector of rows; no tile has more.
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
    /// From one column to the next.
    pub column: isize,
    /// From where on to ask the memory system for lines.
    pub next: *const R,
}

/// What lies side by side in right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Columns,
    Terms,
    /// Complex terms.
    Pairs,
}

impl<R> Sum<R> {
    /// How right lies, for columns of `parts` real numbers; none if nothing lies side by side.
    #[inline(always)]
    pub(super) fn order(&self, parts: usize) -> Option<Order> {
        let one = (parts * size_of::<R>()) as isize;
        if self.column == one {
            Some(Order::Columns)
        } else if self.right_step == one {
            Some(if parts == 1 { Order::Terms } else { Order::Pairs })
        } else {
            None
        }
    }
}
