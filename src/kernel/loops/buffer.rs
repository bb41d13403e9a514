//! A buffer for unfinished sums of a few elements of out.
//!
//! A nest may add to an element of out once for every few terms. If out has old values, each addition would round a
//! number that may be far larger than the terms. Such a nest therefore sums from zero in a buffer, and adds each
//! finished sum to out once.
//!
//! Invariants: a buffer fits on the stack of any thread; an element is written before it is read.

use std::mem::MaybeUninit;

/// A cache line. Its alignment suffices for every element type.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[expect(dead_code, reason = "only for its size")] MaybeUninit<[u8; 64]>);

pub(super) struct Buffer([CacheLine; 1024]);

impl Buffer {
    /// The number of elements of type T in a buffer: at least 4,096, for a tile of 16 elements in three dimensions.
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
