//! Defines the common interface of boxes, leased from a buffer of this process or mapped from another.
//!
//! Invariant: the address and shape of a box do not change.

use super::strided::Strided;

pub(super) trait Located {
    fn start(&self) -> *mut u8;

    fn strided(&self) -> &Strided;

    /// Returns the size of an element in bytes.
    fn element(&self) -> usize;
}
