//! A buffer for unfinished sums.
//!
//! An old value may be far larger than the terms, so a nest that adds a few terms at a time sums from zero in a buffer,
//! to round the old value only once.
//!
//! A buffer (64 KiB) fits on any thread's stack, and is written before it is read.

use std::mem::MaybeUninit;

/// A cache line, aligned for every element type.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[expect(dead_code, reason = "only for its size")] MaybeUninit<[u8; 64]>);

pub(super) struct Buffer([CacheLine; 1024]);

impl Buffer {
    /// At least 4,096, for a tile of 16 x 16 x 16.
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
