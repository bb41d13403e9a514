//! The interface to specialised code for the sums of a tile, in `multiply_add_loop_x86`.

use std::cell::Cell;

#[cfg(target_arch = "aarch64")]
use super::super::simd::Neon;
use super::super::simd::{Generic, Real, Simd};

/// Instruction sets that may have specialised code.
///
/// # Safety
/// Same as for [`Simd`].
pub trait TileSums<R: Real>: Simd<R> {
    const SPECIALISED: bool = false;

    /// Computes a tile of `V` vectors by `N` columns of `PARTS` real numbers, or returns false if there is no code for
    /// it.
    ///
    /// # Safety
    /// Same as for [`Sum`]. Full vectors must be writable at the destination, and the processor must support this
    /// instruction set.
    #[inline(always)]
    unsafe fn sums<const V: usize, const N: usize, const PARTS: usize>(_: &Sum<R>, _: &TileDestination<R>) -> bool {
        false
    }
}

impl<R: Real> TileSums<R> for Generic where Generic: Simd<R> {}

#[cfg(target_arch = "aarch64")]
impl<R: Real> TileSums<R> for Neon where Neon: Simd<R> {}

/// A sum of `depth` products of rows of `left` and columns of `right`, with strides in bytes.
///
/// # Safety
/// The caller of [`TileSums::sums`] guarantees that all elements of the sum may be read, in full vectors.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only the assembly for x86-64 reads the fields"))]
pub struct Sum<R> {
    pub depth: usize,
    pub left: *const R,
    pub left_step: isize,
    /// The prefetch distance for `left`, 0 for none, or [`LIST`].
    pub ahead: isize,
    pub right: *const R,
    pub right_step: isize,
    /// Between columns of `right`, possibly complex.
    pub column: isize,
    pub next: *const R,
}

/// [`Sum::ahead`] for a list of cache lines, no multiple of an element's size.
pub const LIST: isize = 1;

/// Offsets are in real numbers. Complex columns have real, then imaginary parts.
///
/// # Safety
/// The caller of [`TileSums::sums`] guarantees that there is an offset for every column, and that every vector of the
/// tile may be written in full. If `store` is [`Store::Add`], the destination is initialised. `lines` is part of
/// [`Call::lines`](super::Call::lines).
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only the assembly for x86-64 reads the fields"))]
pub struct TileDestination<R> {
    pub out: *mut R,
    pub columns: *const isize,
    /// Offsets of the second and the third vector.
    pub vectors: [isize; 2],
    pub store: Store,
    /// The rest of the list for [`LIST`], which the assembly advances, and its end.
    pub lines: Cell<*const *const R>,
    pub lines_end: *const *const R,
}

/// The assembly depends on the variants' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Store {
    Overwrite = 0,
    /// Stores bypass the caches; vectors are aligned to their size.
    Stream = 1,
    Add = 2,
}
