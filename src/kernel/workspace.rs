//! Memory for packed blocks, kept between calls.
//!
//! Invariants: memory is aligned for any element type and vector register; it grows, and never shrinks before
//! [`Workspace::clear`], unless growing fails; running out of memory is an error and not an abort. Fresh pages are
//! zeroed by the operating system and untouched, so the thread that packs first decides their NUMA node. Contents are
//! meaningless between two calls.

use super::micro::Vectorized;
use super::zeroed::Zeroed;

/// A page: aligned for every vector register, and no other data precedes packed blocks on their first page.
const ALIGN: usize = 4096;

/// A buffer that a contraction packs into, reusable with any element type.
#[derive(Debug)]
pub struct Workspace {
    memory: Option<Zeroed>,
}

/// There was no memory for packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory for a workspace of {bytes} bytes")]
pub struct OutOfMemory {
    pub bytes: usize,
}

impl Workspace {
    pub const fn new() -> Self {
        Workspace { memory: None }
    }

    /// Bytes held.
    pub const fn bytes(&self) -> usize {
        match &self.memory {
            Some(memory) => memory.bytes(),
            None => 0,
        }
    }

    /// Frees the memory.
    pub fn clear(&mut self) {
        self.memory = None;
    }

    /// Makes sure that a later call that needs at most `elements` elements succeeds.
    ///
    /// # Errors
    /// If there is no memory; the memory held before is freed then.
    pub fn reserve<T: Vectorized>(&mut self, elements: usize) -> Result<(), OutOfMemory> {
        self.slice::<T>(elements).map(|_| ())
    }

    /// Returns `elements` elements with unspecified values.
    pub(super) fn slice<T: Vectorized>(&mut self, elements: usize) -> Result<&mut [T], OutOfMemory> {
        let bytes = elements.saturating_mul(size_of::<T>());
        if bytes > self.bytes() {
            self.grow(bytes)?;
        }
        Ok(match &self.memory {
            // SAFETY: memory starts at a page and holds at least `bytes` initialised bytes, any of which form a T
            // (Vectorized is for element types only); &mut self excludes other users.
            Some(memory) => unsafe { std::slice::from_raw_parts_mut(memory.start().as_ptr().cast(), elements) },
            None => &mut [],
        })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        // The old contents are not worth keeping, and two buffers at once might not fit.
        self.clear();
        self.memory = Some(Zeroed::new(bytes, ALIGN).ok_or(OutOfMemory { bytes })?);
        Ok(())
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Workspace::new()
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
        // An unused allocation may be optimised away, and then it succeeds.
        let workspace = std::hint::black_box(&mut workspace);
        let wanted = usize::MAX / 16;
        assert_eq!(workspace.reserve::<f32>(wanted), Err(OutOfMemory { bytes: wanted * 4 }));
        assert_eq!(workspace.reserve::<f64>(usize::MAX), Err(OutOfMemory { bytes: usize::MAX }));
        assert_eq!(workspace.bytes(), 0);
    }
}
