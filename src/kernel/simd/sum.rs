//! The sums of a tile: what they read, and where they go.
//!
//! Invariant: everything may be read, and written, in whole vectors. Deliberately absent: adding up, which is each
//! instruction set's.

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

/// Where sums go, column by column. A complex column is two: sums with its real and with its imaginary parts. Offsets are in
/// real numbers.
///
/// # Safety
/// Whoever adds up promises an offset for every column, and that whole vectors may be written there; those of the tile's
/// vectors only, and with [`Store::Onto`] they hold values.
pub struct TileDestination<R> {
    pub out: *mut R,
    pub columns: *const isize,
    /// Of the second and the third vector of each column.
    pub vectors: [isize; 2],
    pub store: Store,
}

/// How sums are written; the assembly tells them apart by their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Store {
    Over = 0,
    /// Past the caches; vectors begin at multiples of their size.
    Past = 1,
    /// Added to what is there.
    Onto = 2,
}
