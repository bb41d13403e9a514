//! Defines the common interface of boxes in this process's address space: leased boxes, and mapped boxes of other
//! processes.
//!
//! Invariant: the address and the shape of a box do not change.

use super::strided::Strided;

/// A box in this process's address space.
pub(super) trait Located {
    /// Returns the address of the first element.
    fn start(&self) -> *mut u8;

    fn strided(&self) -> &Strided;

    /// Returns the size of an element in bytes.
    fn element(&self) -> usize;
}
