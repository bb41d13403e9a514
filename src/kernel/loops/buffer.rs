//! Provides a buffer for unfinished sums of a few elements of `out`.
//!
//! A loop nest that adds a few terms at a time to an element with an old value would round a number that may be far
//! larger than the terms, so it sums from zero in a buffer, and adds each finished sum once.
//!
//! A buffer of 64 KiB fits on the stack of any thread, and is written before it is read.

use std::mem::MaybeUninit;

/// A cache line, aligned for every element type.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[expect(dead_code, reason = "only for its size")] MaybeUninit<[u8; 64]>);

pub(super) struct Buffer([CacheLine; 1024]);

impl Buffer {
    /// Returns the number of elements in a buffer, at least 4,096 as for a tile of 16 x 16 x 16.
    pub const fn elements<T>() -> usize {
        size_of::<Buffer>() / size_of::<T>()
    }

    pub fn new() -> Buffer {
        Buffer([CacheLine(MaybeUninit::uninit()); 1024])
    }

    pub fn start<T>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}
