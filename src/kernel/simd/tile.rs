//! Tiles of elements transposed in registers.
//!
//! An element is `P` reals that stay together: 4, 8 or 16 bytes. A tile has as many elements on each side as a vector
//! holds; a full one is loaded in pieces of 16 bytes, so that loads do half of the work that shuffles would.
//!
//! Invariants: nothing outside of the `rows` x `cols` elements of either side is touched; [`Put`] never reads its
//! destination. Deliberately absent: caches and loops over more dimensions, which are `permute`.

use super::super::Element;
use super::{Both, Merge, Put, Real, Simd};
use crate::dtype::Dtype;

/// Most vectors of a tile.
const MOST: usize = 16;

/// The columns of a full tile whose rows start `stride` reals apart, in as many vectors as an element fits into one.
///
/// # Safety
/// The instructions exist; the tile may be read.
#[inline(always)]
unsafe fn columns<S: Simd<R>, R: Real, const P: usize>(from: *const R, stride: isize) -> [S::Vector; MOST] {
    let in_piece = 16 / size_of::<R>();
    let pieces = S::LANES / in_piece;
    // SAFETY: piece `q` of rows below the side of the tile lies inside of it; the instructions exist.
    unsafe {
        let mut out = [S::zero(); MOST];
        for q in 0..pieces {
            let row = |r: isize, step: isize| {
                S::load_pieces(from.wrapping_offset(r * stride).add(q * in_piece), step * stride)
            };
            match size_of::<R>() * P {
                4 => {
                    let quad = quad::<S, R>([row(0, 4), row(1, 4), row(2, 4), row(3, 4)]);
                    out[4 * q..4 * q + 4].copy_from_slice(&quad);
                }
                8 => {
                    let (a, b) = (row(0, 2), row(1, 2));
                    (out[2 * q], out[2 * q + 1]) = (S::low_8(a, b), S::high_8(a, b));
                }
                _ => out[q] = row(0, 1),
            }
        }
        out
    }
}

/// The 4 x 4 words of each piece transposed.
///
/// # Safety
/// The instructions exist.
#[inline(always)]
unsafe fn quad<S: Simd<R>, R: Real>([a, b, c, d]: [S::Vector; 4]) -> [S::Vector; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let (ab, cd) = (S::low_4(a, b), S::low_4(c, d));
        let (ab_high, cd_high) = (S::high_4(a, b), S::high_4(c, d));
        [S::low_8(ab, cd), S::high_8(ab, cd), S::low_8(ab_high, cd_high), S::high_8(ab_high, cd_high)]
    }
}

/// Rows to columns.
///
/// # Safety
/// The instructions exist.
#[inline(always)]
unsafe fn transpose<S: Simd<R>, R: Real, const P: usize>(rows: [S::Vector; MOST]) -> [S::Vector; MOST] {
    let pieces = S::LANES * size_of::<R>() / 16;
    let words = 16 / (size_of::<R>() * P);
    // SAFETY: the caller's promise; indices are below the side of the tile, `pieces * words`, but for those that
    // `exchange` passes through.
    unsafe {
        let mut out = [S::zero(); MOST];
        // Word w of piece p of out is, after the first loop, in vector [piece of the row][w] at piece p.
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
            let at = |g: usize| inside[if g < pieces { words * g + w } else { 0 }];
            let crossed = S::exchange([at(0), at(1), at(2), at(3)]);
            for (g, &vector) in crossed.iter().enumerate().take(pieces) {
                out[words * g + w] = vector;
            }
        }
        out
    }
}

/// Two pointers to reals and the distances between rows of the source and between rows of the destination.
#[derive(Clone, Copy)]
pub(in super::super) struct Tile<R> {
    pub from: *const R,
    pub from_stride: isize,
    pub to: *mut R,
    pub to_stride: isize,
}

impl<R> Tile<R> {
    /// The tile that starts at row `i` and column `j` of the source, counted in reals.
    #[inline(always)]
    fn at(self, i: usize, j: usize, parts: usize) -> Self {
        let from = self.from.wrapping_offset(i as isize * self.from_stride).wrapping_add(j * parts);
        let to = self.to.wrapping_offset(j as isize * self.to_stride).wrapping_add(i * parts);
        Tile { from, to, ..self }
    }
}

/// Rows and columns of the source, in elements.
#[derive(Clone, Copy)]
pub(in super::super) struct Size {
    pub rows: usize,
    pub cols: usize,
}

/// Element `j` of row `i` of the source meets element `i` of row `j` of the destination.
///
/// # Safety
/// The instructions exist. Every element of either side is `P` reals that may be accessed as `merge` says; the sides do
/// not overlap.
#[inline(always)]
pub(in super::super) unsafe fn transpose_tile_with<S: Simd<R>, R: Real, const P: usize, M: Merge<R>>(
    tile: Tile<R>,
    Size { rows, cols }: Size,
    merge: M,
) {
    let side = S::LANES / P;
    // The last tiles are moved back over ones before where that is allowed: full tiles are quicker.
    let back = M::PUTS && rows >= side && cols >= side;
    let mut i = 0;
    while i < rows {
        if back {
            i = i.min(rows - side);
        }
        let mut j = 0;
        while j < cols {
            if back {
                j = j.min(cols - side);
            }
            let size = Size { rows: side.min(rows - i), cols: side.min(cols - j) };
            // SAFETY: a tile inside of the caller's.
            unsafe {
                if size.rows == side && size.cols == side {
                    full::<S, R, P, M>(tile.at(i, j, P), merge);
                } else {
                    partial::<S, R, P, M>(tile.at(i, j, P), size, merge);
                }
            }
            j += side;
        }
        i += side;
    }
}

/// # Safety
/// As [`transpose_tile_with`] for as many rows and columns as a vector has elements.
#[inline(always)]
unsafe fn full<S: Simd<R>, R: Real, const P: usize, M: Merge<R>>(tile: Tile<R>, merge: M) {
    // SAFETY: the caller's promise.
    unsafe {
        let columns = columns::<S, R, P>(tile.from, tile.from_stride);
        for (j, &column) in columns.iter().enumerate().take(S::LANES / P) {
            merge.all::<S>(tile.to.wrapping_offset(j as isize * tile.to_stride), column);
        }
    }
}

/// # Safety
/// As [`transpose_tile_with`] for at most as many rows and columns as a vector has elements.
#[inline(always)]
unsafe fn partial<S: Simd<R>, R: Real, const P: usize, M: Merge<R>>(tile: Tile<R>, size: Size, merge: M) {
    let side = S::LANES / P;
    // SAFETY: the caller's promise.
    unsafe {
        let mut rows = [S::zero(); MOST];
        for (i, row) in rows.iter_mut().enumerate().take(side) {
            if i < size.rows {
                *row = S::load_first(tile.from.wrapping_offset(i as isize * tile.from_stride), size.cols * P);
            }
        }
        let columns = transpose::<S, R, P>(rows);
        for (j, &column) in columns.iter().enumerate().take(side) {
            if j < size.cols {
                merge.first::<S>(tile.to.wrapping_offset(j as isize * tile.to_stride), column, size.rows * P);
            }
        }
    }
}

/// `to[j to_stride + i] = from[i from_stride + j]` for `i` below `rows` and `j` below `cols`, quickest for multiples of
/// what a vector holds. Strides count elements.
///
/// # Safety
/// The instructions exist; the elements of `from` may be read and those of `to` written; they do not overlap.
#[inline(always)]
pub(in super::super) unsafe fn transpose_tile<S: Both, T: Element>(
    from: *const T,
    from_stride: isize,
    to: *mut T,
    to_stride: isize,
    rows: usize,
    cols: usize,
) {
    #[inline(always)]
    fn tile<R, T>(from: *const T, from_stride: isize, to: *mut T, to_stride: isize) -> Tile<R> {
        let parts = (size_of::<T>() / size_of::<R>()) as isize;
        Tile { from: from.cast(), from_stride: from_stride * parts, to: to.cast(), to_stride: to_stride * parts }
    }
    let size = Size { rows, cols };
    // SAFETY: the caller's promise; an element is one or two reals of the type that its dtype says.
    unsafe {
        match T::DTYPE {
            Dtype::Float32 => transpose_tile_with::<S, f32, 1, _>(tile(from, from_stride, to, to_stride), size, Put),
            Dtype::Float64 => transpose_tile_with::<S, f64, 1, _>(tile(from, from_stride, to, to_stride), size, Put),
            Dtype::Complex64 => transpose_tile_with::<S, f32, 2, _>(tile(from, from_stride, to, to_stride), size, Put),
            Dtype::Complex128 => transpose_tile_with::<S, f64, 2, _>(tile(from, from_stride, to, to_stride), size, Put),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Body, available, dispatch};
    use num_complex::Complex;

    use super::*;
    use crate::local::Isa;

    struct One<'a, T> {
        from: &'a [T],
        to: &'a mut [T],
        strides: [isize; 2],
        size: [usize; 2],
    }

    impl<T: Element> Body for One<'_, T> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<S: Both>(self) {
            let [rows, cols] = self.size;
            let start = |stride: isize, count: usize| (-stride * (count as isize - 1)).max(0) as usize;
            let from = self.from[start(self.strides[0], rows)..].as_ptr();
            let to = self.to[start(self.strides[1], cols)..].as_mut_ptr();
            // SAFETY: the slices hold as many rows as the test made room for.
            unsafe { transpose_tile::<S, T>(from, self.strides[0], to, self.strides[1], rows, cols) }
        }
    }

    fn all_sizes<T: Element>(isa: Isa) {
        for rows in 1..=20 {
            for cols in 1..=20 {
                for (gap, sign) in [(0, 1), (3, 1), (1, -1)] {
                    let (from_stride, to_stride) = (cols + gap, rows + gap);
                    let from: Vec<T> = (0..rows * from_stride).map(|i| T::from_f64(i as f64, -(i as f64))).collect();
                    let mark = T::from_f64(-1.0, 5.0);
                    let mut to = vec![mark; cols * to_stride];
                    let strides = [from_stride as isize, sign * to_stride as isize];
                    // Slices that end with the last element, so that tools that guard memory see one beyond.
                    let used = (rows - 1) * from_stride + cols;
                    // SAFETY: the instruction set was asked for.
                    unsafe {
                        dispatch(isa, One { from: &from[..used], to: &mut to, strides, size: [rows, cols] });
                    }
                    for (at, &got) in to.iter().enumerate() {
                        let (j, i) = (at / to_stride, at % to_stride);
                        let j = if sign < 0 { cols - 1 - j } else { j };
                        let want = if i < rows { from[i * from_stride + j] } else { mark };
                        assert_eq!(got, want, "{} {rows} x {cols}, row {i}, column {j}", isa.name());
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_of_every_size_type_and_instruction_set() {
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            all_sizes::<f32>(isa);
            all_sizes::<f64>(isa);
            all_sizes::<Complex<f32>>(isa);
            all_sizes::<Complex<f64>>(isa);
        }
    }
}
