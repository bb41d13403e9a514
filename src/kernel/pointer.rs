//! Pointers that go to worker threads.
//!
//! A wrapper and nothing else: every dereference states its own reason.

/// A pointer into a tensor that some thread borrows for the time of the parallel call.
#[derive(Debug)]
pub(super) struct Const<T>(pub *const T);

/// The same for a tensor that is borrowed mutably.
#[derive(Debug)]
pub(super) struct Mut<T>(pub *mut T);

impl<T> Clone for Const<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Const<T> {}

impl<T> Clone for Mut<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Mut<T> {}

// SAFETY: moving a pointer is harmless; reading a T through it on another thread is what `&T: Send` allows.
unsafe impl<T: Sync> Send for Const<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Const<T> {}
// SAFETY: moving a pointer is harmless; whoever writes through it states why no other thread touches those elements.
unsafe impl<T: Send> Send for Mut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Mut<T> {}

impl<T> Const<T> {
    /// Moves by elements; staying inside the tensor matters only when the result is dereferenced.
    pub fn at(self, offset: isize) -> *const T {
        self.0.wrapping_offset(offset)
    }
}

impl<T> Mut<T> {
    /// Moves by elements; staying inside the tensor matters only when the result is dereferenced.
    pub fn at(self, offset: isize) -> *mut T {
        self.0.wrapping_offset(offset)
    }
}
