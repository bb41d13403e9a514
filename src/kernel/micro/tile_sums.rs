//! The sums of a tile: their inputs, their destination, and for which instruction sets there is code that computes them.
//!
//! Invariant: inputs may be read, and the destination read and written, in whole vectors. Deliberately absent: the code
//! itself (`x86_asm`), and sums without such code, which the compiler makes from vectors (`real`, `complex`).

#[cfg(target_arch = "aarch64")]
use super::super::simd::Neon;
use super::super::simd::{Generic, Real, Simd};

/// Instruction sets that may have code of their own for the sums of a tile.
///
/// # Safety
/// As for [`Simd`].
pub trait TileSums<R: Real>: Simd<R> {
    /// Computes and writes a tile of `V` vectors by `N` columns of `PARTS` real numbers; false if there is no code for
    /// it.
    ///
    /// # Safety
    /// As for [`Sum`]; whole vectors may be written to the destination; the instructions are available.
    #[inline(always)]
    unsafe fn sums<const V: usize, const N: usize, const PARTS: usize>(_: &Sum<R>, _: &TileDestination<R>) -> bool {
        false
    }
}

impl<R: Real> TileSums<R> for Generic where Generic: Simd<R> {}

#[cfg(target_arch = "aarch64")]
impl<R: Real> TileSums<R> for Neon where Neon: Simd<R> {}

/// The sum over `depth` steps of the rows of left times the columns of right. Strides are in bytes.
///
/// # Safety
/// The caller of [`TileSums::sums`] promises that all of this may be read, in whole vectors.
pub struct Sum<R> {
    pub depth: usize,
    /// Rows of left are contiguous.
    pub left: *const R,
    pub left_step: isize,
    /// The prefetch distance for left, or 0.
    pub ahead: isize,
    pub right: *const R,
    pub right_step: isize,
    /// From one column to the next, which may be complex.
    pub column: isize,
    /// The address from which to prefetch.
    pub next: *const R,
}

/// The destination of sums, column by column. A complex column counts as two: the sums with its real and with its
/// imaginary parts. Offsets are in real numbers.
///
/// # Safety
/// The caller of [`TileSums::sums`] promises an offset for every column, and that whole vectors may be written
/// there, for the vectors that the tile has; with [`Store::Onto`] they are initialised.
pub struct TileDestination<R> {
    pub out: *mut R,
    pub columns: *const isize,
    /// Of the second and the third vector of each column.
    pub vectors: [isize; 2],
    pub store: Store,
}

/// How sums are written; the assembly distinguishes the variants by their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Store {
    Over = 0,
    /// Past the caches; vectors are aligned to their size.
    Past = 1,
    /// Added to out's old values.
    Onto = 2,
}
