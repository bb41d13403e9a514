//! Boxes at addresses of this process, regardless of the owner: leased ones, and those of other processes that are
//! mapped.
//!
//! Invariant: the address and the shape of a box do not change.

use super::strided::Strided;

/// A box at an address of this process.
pub(super) trait Located {
    /// The address of its first element.
    fn start(&self) -> *mut u8;

    fn strided(&self) -> &Strided;

    /// Bytes per element.
    fn element(&self) -> usize;
}
