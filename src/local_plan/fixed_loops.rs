//! Stores a list of loops, without a heap allocation if the list is short.
//!
//! Invariant: `many` has all loops above [`INLINE_LOOPS`], and is empty otherwise.

use std::ops::{Deref, DerefMut};

use super::Dim;

/// Maximum loops without a heap allocation.
const INLINE_LOOPS: usize = 8;

#[derive(Clone)]
pub struct Loops<const N: usize> {
    few: [Dim<N>; INLINE_LOOPS],
    count: usize,
    many: Vec<Dim<N>>,
}

impl<const N: usize> Loops<N> {
    pub const fn new() -> Self {
        Loops { few: [Dim { extent: 1, strides: [0; N] }; INLINE_LOOPS], count: 0, many: Vec::new() }
    }

    pub fn push(&mut self, dim: Dim<N>) {
        if self.count < INLINE_LOOPS {
            self.few[self.count] = dim;
            self.count += 1;
        } else {
            if self.many.is_empty() {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(dim);
        }
    }

    /// # Panics
    /// If there is no loop at index `at`.
    pub fn remove(&mut self, at: usize) -> Dim<N> {
        if self.many.is_empty() {
            let dim = self.few[..self.count][at];
            self.few.copy_within(at + 1..self.count, at);
            self.count -= 1;
            return dim;
        }
        let dim = self.many.remove(at);
        if self.many.len() <= INLINE_LOOPS {
            self.few.copy_from_slice(&self.many);
            self.many.clear();
        }
        dim
    }
}

impl<const N: usize> Default for Loops<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> FromIterator<Dim<N>> for Loops<N> {
    fn from_iter<I: IntoIterator<Item = Dim<N>>>(dims: I) -> Self {
        let mut loops = Loops::new();
        dims.into_iter().for_each(|dim| loops.push(dim));
        loops
    }
}

impl<const N: usize> Deref for Loops<N> {
    type Target = [Dim<N>];

    fn deref(&self) -> &[Dim<N>] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }
}

impl<const N: usize> DerefMut for Loops<N> {
    fn deref_mut(&mut self) -> &mut [Dim<N>] {
        if self.many.is_empty() { &mut self.few[..self.count] } else { &mut self.many }
    }
}

impl<const N: usize> PartialEq for Loops<N> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<const N: usize> Eq for Loops<N> {}

impl<const N: usize> std::fmt::Debug for Loops<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
