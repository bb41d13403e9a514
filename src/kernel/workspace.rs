//! Memory for packed blocks, kept between calls.
//!
//! Invariants: aligned for any element type and vector register; grows, never shrinks before [`Workspace::clear`];
//! running out is an error and not an abort. Fresh pages come zeroed from the operating system and untouched, so the
//! thread that packs first places them. Contents mean nothing between two calls.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::Element;

/// A page: wide enough for every vector register, and packed blocks do not share pages with strangers.
const ALIGN: usize = 4096;

/// A buffer that a contraction packs into, reusable with any element type.
#[derive(Debug)]
pub struct Workspace {
    start: NonNull<u8>,
    /// What `start` was allocated with; of size 0 if nothing was.
    layout: Layout,
}

/// There was no memory to pack into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory for a workspace of {bytes} bytes")]
pub struct OutOfMemory {
    pub bytes: usize,
}

// SAFETY: the buffer is owned and reached through &mut self only, as in a Vec<u8>.
unsafe impl Send for Workspace {}
// SAFETY: as above; &self gives out the size only.
unsafe impl Sync for Workspace {}

impl Workspace {
    pub const fn new() -> Self {
        Workspace { start: NonNull::dangling(), layout: Layout::new::<()>() }
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Gives the memory back.
    pub fn clear(&mut self) {
        let held = std::mem::replace(&mut self.layout, Layout::new::<()>());
        if held.size() > 0 {
            // SAFETY: start came from alloc_zeroed with this layout, which is forgotten now.
            unsafe { dealloc(self.start.as_ptr(), held) };
        }
    }

    /// Makes sure that a later call that needs so many elements succeeds.
    ///
    /// # Errors
    /// If there is no memory; what was held is gone then.
    pub fn reserve<T: Element>(&mut self, elements: usize) -> Result<(), OutOfMemory> {
        self.slice::<T>(elements).map(|_| ())
    }

    /// So many elements of unspecified values.
    pub(super) fn slice<T: Element>(&mut self, elements: usize) -> Result<&mut [T], OutOfMemory> {
        let bytes = elements.saturating_mul(size_of::<T>());
        if bytes > self.bytes() {
            self.grow(bytes)?;
        }
        Ok(match bytes {
            0 => &mut [],
            // SAFETY: start is aligned to a page and holds `bytes` initialised bytes, any of which form a T (Element is
            // sealed); &mut self excludes other users.
            _ => unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), elements) },
        })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        // The old contents are not worth keeping, and two buffers at once might not fit.
        self.clear();
        let layout = Layout::from_size_align(bytes, ALIGN).map_err(|_| OutOfMemory { bytes })?;
        // SAFETY: the layout is not empty: bytes is more than was held.
        self.start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(OutOfMemory { bytes })?;
        self.layout = layout;
        Ok(())
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Workspace::new()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_stays() {
        let mut workspace = Workspace::new();
        assert_eq!(workspace.bytes(), 0);
        workspace.slice::<f64>(10).unwrap().fill(1.0);
        assert_eq!(workspace.bytes(), 80);
        assert_eq!(workspace.slice::<f32>(5).unwrap().len(), 5);
        assert_eq!(workspace.bytes(), 80);
        workspace.clear();
        assert_eq!(workspace.bytes(), 0);
        assert!(workspace.slice::<f64>(0).unwrap().is_empty());
    }

    #[test]
    fn too_much_is_an_error() {
        let mut workspace = Workspace::new();
        // An allocation that nobody looks at may be optimised away, and then it succeeds.
        let workspace = std::hint::black_box(&mut workspace);
        let wanted = usize::MAX / 16;
        assert_eq!(workspace.reserve::<f32>(wanted), Err(OutOfMemory { bytes: wanted * 4 }));
        assert_eq!(workspace.reserve::<f64>(usize::MAX), Err(OutOfMemory { bytes: usize::MAX }));
        assert_eq!(workspace.bytes(), 0);
    }
}
