//! Defines the common interface of boxes (strided blocks of arrays), leased from a buffer of this process or mapped
//! from another.
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
