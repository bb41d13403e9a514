//! Boxes at addresses of this process: leased boxes, and mapped boxes of other processes.
//!
//! Invariant: the address and the shape of a box do not change.

use super::strided::Strided;

/// A box at an address of this process.
pub(super) trait Located {
    /// The address of the first element.
    fn start(&self) -> *mut u8;

    fn strided(&self) -> &Strided;

    /// Bytes per element.
    fn element(&self) -> usize;
}
