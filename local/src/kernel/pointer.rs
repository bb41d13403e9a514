//! Pointers for worker threads.
//!
//! Accesses are not checked, so each has its own safety comment.

/// A pointer into a tensor that the caller borrows until the parallel work has finished.
#[derive(Debug)]
pub(super) struct Const<T>(pub *const T);

/// A pointer into a tensor that the caller borrows mutably until the parallel work has finished.
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

// SAFETY: sending a pointer is harmless; other threads may read a `T` because it is `Sync`.
unsafe impl<T: Sync> Send for Const<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Const<T> {}
// SAFETY: sending a pointer is harmless; each write states why no other thread accesses the elements.
unsafe impl<T: Send> Send for Mut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Mut<T> {}

impl<T> Const<T> {
    /// The result may be outside the tensor, but must not be dereferenced there.
    pub fn at(self, offset: isize) -> *const T {
        self.0.wrapping_offset(offset)
    }
}

impl<T> Mut<T> {
    /// Like [`Const::at`].
    pub fn at(self, offset: isize) -> *mut T {
        self.0.wrapping_offset(offset)
    }
}
