//! Keeps memory for packed blocks between calls.
//!
//! A workspace shrinks only in [`Workspace::clear`] or if growing fails, which returns an error. The contents are
//! unspecified between calls.

use super::micro::Vectorized;
use super::zeroed::Zeroed;

/// Alignment in bytes: a page, which keeps other data out of the first one.
const ALIGN: usize = 4096;

/// A buffer for packing, reusable for any element type.
#[derive(Debug)]
pub struct Workspace {
    memory: Option<Zeroed>,
}

/// Memory for packing could not be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory for a workspace of {bytes} bytes")]
pub struct OutOfMemory {
    pub bytes: usize,
}

impl Workspace {
    pub const fn new() -> Self {
        Workspace { memory: None }
    }

    pub const fn bytes(&self) -> usize {
        match &self.memory {
            Some(memory) => memory.bytes(),
            None => 0,
        }
    }

    pub fn clear(&mut self) {
        self.memory = None;
    }

    /// Allocates memory for `elements` elements of `T`. A later contraction that needs at most this cannot fail with
    /// [`OutOfMemory`].
    ///
    /// # Errors
    /// If the memory cannot be allocated; the previous memory is then freed.
    pub fn reserve<T: Vectorized>(&mut self, elements: usize) -> Result<(), OutOfMemory> {
        self.slice::<T>(elements).map(|_| ())
    }

    pub(super) fn slice<T: Vectorized>(&mut self, elements: usize) -> Result<&mut [T], OutOfMemory> {
        let bytes = elements.saturating_mul(size_of::<T>());
        if bytes > self.bytes() {
            self.grow(bytes)?;
        }
        Ok(match &self.memory {
            // SAFETY: the memory starts at a page boundary and has at least `bytes` initialised bytes. Every bit
            // pattern is a valid `T`, because only element types implement `Vectorized`. `&mut self` excludes other
            // users.
            Some(memory) => unsafe { std::slice::from_raw_parts_mut(memory.start().as_ptr().cast(), elements) },
            None => &mut [],
        })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        // Both buffers might not fit.
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
mod tests;
