//! Pointers that are passed to worker threads.
//!
//! Mere wrappers: each dereference gives its own safety argument.

/// A pointer into a tensor that is borrowed by some thread for the duration of the parallel call.
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
// SAFETY: moving a pointer is harmless; each write through it states why no other thread accesses those elements.
unsafe impl<T: Send> Send for Mut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Mut<T> {}

impl<T> Const<T> {
    /// Offsets the pointer by a number of elements. The result must be inside the tensor only if it is dereferenced.
    pub fn at(self, offset: isize) -> *const T {
        self.0.wrapping_offset(offset)
    }
}

impl<T> Mut<T> {
    /// Offsets the pointer by a number of elements. The result must be inside the tensor only if it is dereferenced.
    pub fn at(self, offset: isize) -> *mut T {
        self.0.wrapping_offset(offset)
    }
}
