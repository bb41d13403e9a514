//! Transposes tiles of elements in registers.
//!
//! An element is `P` reals of 4, 8 or 16 bytes in total. `docs/kernels.md` describes square and flat tiles. Only `rows`
//! x `cols` elements are accessed, and the destination is never read.

use super::{Real, Simd};

const MAX_TILE_VECTORS: usize = 16;

/// Loads a full tile and returns its columns.
///
/// # Safety
/// The processor must support the instruction set `S`, and the tile must be readable.
#[inline(always)]
unsafe fn columns<S: Simd<R>, R: Real, const P: usize>(
    from: impl Fn(usize) -> *const R,
) -> [S::Vector; MAX_TILE_VECTORS] {
    let in_piece = 16 / size_of::<R>();
    let pieces = S::LANES / in_piece;
    // SAFETY: guaranteed by the caller; pieces are inside the tile.
    unsafe {
        let mut out = [S::zero(); MAX_TILE_VECTORS];
        for q in 0..pieces {
            // Not compiled for the instruction set, so it only computes addresses.
            let row = |r: usize, step: usize| {
                let piece = |g: usize| from(if g < pieces { r + g * step } else { r }).wrapping_add(q * in_piece);
                [piece(0), piece(1), piece(2), piece(3)]
            };
            match size_of::<R>() * P {
                4 => {
                    let quad = quad::<S, R>([
                        S::load_pieces(row(0, 4)),
                        S::load_pieces(row(1, 4)),
                        S::load_pieces(row(2, 4)),
                        S::load_pieces(row(3, 4)),
                    ]);
                    out[4 * q..4 * q + 4].copy_from_slice(&quad);
                }
                8 => {
                    let (a, b) = (S::load_pieces(row(0, 2)), S::load_pieces(row(1, 2)));
                    (out[2 * q], out[2 * q + 1]) = (S::low_8(a, b), S::high_8(a, b));
                }
                _ => out[q] = S::load_pieces(row(0, 1)),
            }
        }
        out
    }
}

/// Transposes the 4 x 4 words in each piece of four vectors.
///
/// # Safety
/// The processor must support the instruction set `S`.
#[inline(always)]
unsafe fn quad<S: Simd<R>, R: Real>([a, b, c, d]: [S::Vector; 4]) -> [S::Vector; 4] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (ab, cd) = (S::low_4(a, b), S::low_4(c, d));
        let (ab_high, cd_high) = (S::high_4(a, b), S::high_4(c, d));
        [S::low_8(ab, cd), S::high_8(ab, cd), S::low_8(ab_high, cd_high), S::high_8(ab_high, cd_high)]
    }
}

/// # Safety
/// The processor must support the instruction set `S`.
#[inline(always)]
unsafe fn transpose<S: Simd<R>, R: Real, const P: usize>(
    rows: [S::Vector; MAX_TILE_VECTORS],
) -> [S::Vector; MAX_TILE_VECTORS] {
    let pieces = S::LANES * size_of::<R>() / 16;
    let words = 16 / (size_of::<R>() * P);
    // SAFETY: guaranteed by the caller; indices are below `pieces * words`, the side of the tile, except where
    // `exchange` changes nothing.
    unsafe {
        let mut out = [S::zero(); MAX_TILE_VECTORS];
        // After the first loop, piece p of vector `words * g + w` contains the elements of column `words * p + w` in
        // row group g.
        let mut inside = rows;
        for g in 0..pieces {
            match words {
                4 => {
                    let quad = quad::<S, R>([rows[4 * g], rows[4 * g + 1], rows[4 * g + 2], rows[4 * g + 3]]);
                    inside[4 * g..4 * g + 4].copy_from_slice(&quad);
                }
                2 => {
                    let (a, b) = (rows[2 * g], rows[2 * g + 1]);
                    (inside[2 * g], inside[2 * g + 1]) = (S::low_8(a, b), S::high_8(a, b));
                }
                _ => {}
            }
        }
        for w in 0..words {
            let mut across = [S::zero(); 4];
            for (g, vector) in across.iter_mut().enumerate().take(pieces) {
                *vector = inside[words * g + w];
            }
            let crossed = S::exchange(across);
            for (g, &vector) in crossed.iter().enumerate().take(pieces) {
                out[words * g + w] = vector;
            }
        }
        out
    }
}

#[derive(Clone, Copy)]
pub(in super::super) struct Size {
    pub rows: usize,
    pub cols: usize,
}

/// Transposes a tile of at most the size of a square one, with row addresses `from` and `to`.
///
/// # Safety
/// The processor must support the instruction set `S`. The `P` reals of every element must be readable in the source
/// and writable in the destination. Source and destination must not overlap.
#[inline(always)]
pub(in super::super) unsafe fn transpose_square<S: Simd<R>, R: Real, const P: usize>(
    from: impl Fn(usize) -> *const R,
    to: impl Fn(usize) -> *mut R,
    size: Size,
) {
    let side = S::LANES / P;
    // SAFETY: guaranteed by the caller; only rows and columns of this size are accessed.
    unsafe {
        if size.rows == side && size.cols == side {
            let columns = columns::<S, R, P>(from);
            for (j, &column) in columns.iter().enumerate().take(side) {
                S::store(to(j), column);
            }
            return;
        }
        let mut rows = [S::zero(); MAX_TILE_VECTORS];
        for (i, row) in rows.iter_mut().enumerate().take(side) {
            if i < size.rows {
                *row = S::load_first(from(i), size.cols * P);
            }
        }
        let columns = transpose::<S, R, P>(rows);
        for (j, &column) in columns.iter().enumerate().take(side) {
            if j < size.cols {
                S::store_first(to(j), column, size.rows * P);
            }
        }
    }
}

/// Like [`transpose_square`], for a flat tile.
///
/// # Safety
/// Same as for [`transpose_square`], with exactly this number of rows and columns.
#[inline(always)]
unsafe fn transpose_flat<S: Simd<R>, R: Real, const P: usize>(
    from: impl Fn(usize) -> *const R,
    to: impl Fn(usize) -> *mut R,
) {
    let words = 16 / (size_of::<R>() * P);
    let pieces = S::LANES * size_of::<R>() / 16;
    // SAFETY: guaranteed by the caller; column `words * q + w` is piece q of vector w.
    unsafe {
        let columns = match words {
            4 => quad::<S, R>([S::load(from(0)), S::load(from(1)), S::load(from(2)), S::load(from(3))]),
            2 => {
                let (a, b) = (S::load(from(0)), S::load(from(1)));
                [S::low_8(a, b), S::high_8(a, b), S::zero(), S::zero()]
            }
            _ => [S::load(from(0)), S::zero(), S::zero(), S::zero()],
        };
        for (w, &column) in columns.iter().enumerate().take(words) {
            // Not compiled for the instruction set, so it only returns addresses.
            let piece = |q: usize| to(if q < pieces { words * q + w } else { w });
            S::store_pieces([piece(0), piece(1), piece(2), piece(3)], column);
        }
    }
}

/// Computes `to[j to_stride + i] = from[i from_stride + j]` for `i` below `rows` and `j` below `cols`, fastest for
/// multiples of a vector. Strides are in elements.
///
/// # Safety
/// The processor must support the instruction set `S`. The elements of `from` must be readable, and the elements of
/// `to` must be writable. Source and destination must not overlap.
#[inline(always)]
pub(in super::super) unsafe fn transpose_squares<S: Simd<R>, R: Real, const P: usize>(
    from: *const R,
    from_stride: isize,
    to: *mut R,
    to_stride: isize,
    Size { rows, cols }: Size,
) {
    let side = S::LANES / P;
    let (from_stride, to_stride) = (from_stride * P as isize, to_stride * P as isize);
    // With too few rows, tiles are flat. The last tile is moved back over the previous one to be full, which is faster.
    let words = 16 / (size_of::<R>() * P);
    let high = if rows >= side || cols < side { side } else { words };
    let back = rows >= high && cols >= side;
    let mut i = 0;
    while i < rows {
        if back {
            i = i.min(rows - high);
        }
        let mut j = 0;
        while j < cols {
            if back {
                j = j.min(cols - side);
            }
            let size = Size { rows: high.min(rows - i), cols: side.min(cols - j) };
            let from = |r: usize| from.wrapping_offset((i + r) as isize * from_stride).wrapping_add(j * P);
            let to = |c: usize| to.wrapping_offset((j + c) as isize * to_stride).wrapping_add(i * P);
            // SAFETY: the tile is inside the caller's rows and columns; a flat one, moved back, is full.
            unsafe {
                if back && high < side {
                    transpose_flat::<S, R, P>(from, to);
                } else {
                    transpose_square::<S, R, P>(from, to, size);
                }
            }
            j += side;
        }
        i += high;
    }
}
