//! Micro-kernels, which compute tiles (`docs/kernels.md`): one function per size in
//! [`crate::local_plan::register_tiles`], and for fewer columns, so that all sums stay in registers.

mod complex;
#[cfg(target_arch = "x86_64")]
mod multiply_add_loop_x86;
mod real;
#[cfg(test)]
mod tests;
mod tile_sums;

pub(super) use complex::combined;

use std::cell::Cell;
use std::mem::MaybeUninit;

use num_complex::Complex;

use self::tile_sums::{LIST, Store, Sum, TileDestination, TileSums};
#[cfg(target_arch = "aarch64")]
use super::simd::Neon;
#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, Avx512};
use super::simd::{Generic, Real, Simd, prefetch};
use crate::local_plan::{CACHE_LINE, Isa, TileOffsets};

/// What all tiles of a call have in common; [`TileOffsets`] has the rest. Counts and strides are in real numbers, two
/// per complex element.
///
/// The caller guarantees the following for every tile, after the tile's offsets are added. At each of `depth` steps,
/// `rows` numbers from `left` on may be read, or full vectors if `left_padded` is true. At each step, one element of
/// `right` per column may be read. `rows` numbers in each column of `out` may be written, and if `beta` is not 0, they
/// are initialised. `rows` numbers fill as many vectors (the last may be partial) as the kernel computes. The list
/// `lines` has a multiple of [`LINES`] pointers, to any addresses.
#[derive(Debug, Clone, Copy)]
pub struct Call<R> {
    pub depth: usize,
    /// The first of the contiguous rows.
    pub left: *const R,
    pub left_step: isize,
    /// Between successive tiles, in addition to their offsets.
    pub left_next: isize,
    pub right: *const R,
    pub right_step: isize,
    /// Ignored for packed columns.
    pub right_column: isize,
    pub out: *mut R,
    /// Offsets in `out`, in elements.
    pub columns: *const isize,
    pub rows: usize,
    pub left_padded: bool,
    /// Whether stores bypass the caches. This requires full vectors that are aligned to their size, `beta` = 0, and a
    /// fence after the call.
    pub streams: bool,
    /// Whether to prefetch `out` before the sum.
    pub prefetches_out: bool,
    /// From where about one cache line per step is prefetched: the next call's part of `right`, or a batch's next
    /// product.
    pub next: *const R,
    /// The prefetch distance for `left`; 0 if it is packed.
    pub ahead: isize,
    /// Start and end of a list of cache lines to prefetch instead of `left`, up to [`lines_of_tile`] for each tile.
    pub lines: [*const *const R; 2],
    /// Real and imaginary part, 0 for real types.
    pub alpha: [R; 2],
    pub beta: [R; 2],
    /// Ignored for real types.
    pub conjugated: [bool; 2],
}

impl<R: Real> Call<R> {
    /// `None` if writing needs a multiplication.
    fn store(&self) -> Option<Store> {
        let [alpha, beta] = [self.alpha[0], self.beta[0]];
        match (alpha == R::ONE, beta == R::ZERO) {
            (true, true) if self.streams => Some(Store::Stream),
            (true, true) => Some(Store::Overwrite),
            (true, false) if beta == R::ONE => Some(Store::Add),
            _ => None,
        }
    }
}

impl<R> Call<R> {
    #[inline(always)]
    fn left_of(&self, tile_offset: &TileOffsets, at: usize) -> *const R {
        self.left.wrapping_offset(at as isize * self.left_next + tile_offset.left)
    }

    #[inline(always)]
    fn right_of(&self, tile_offset: &TileOffsets) -> *const R {
        self.right.wrapping_offset(tile_offset.right)
    }

    /// Of tiles that share a panel of `right`, only the first prefetches from `next`; in a batch, each does.
    #[inline(always)]
    fn next_of(&self, tile_offset: &TileOffsets, at: usize) -> *const R {
        if at == 0 || tile_offset.right != 0 { self.next.wrapping_offset(tile_offset.right) } else { self.right }
    }
}

/// [`Call::lines`] prefetched for every four terms, so few that processors drop none.
pub const LINES: usize = 3;

pub fn lines_of_tile(depth: usize) -> usize {
    depth / 4 * LINES
}

/// # Safety
/// Same as for [`Call`], and the processor must support the kernel's instruction set.
pub type Kernel<R> = unsafe fn(&Call<R>, &[TileOffsets]);

/// Only the four element types: no padding, and every bit pattern is valid.
pub trait Vectorized: Copy {
    type Real: Real;

    const PARTS: usize;

    fn parts(self) -> [Self::Real; 2];

    /// If `packed`, the columns of `right` are contiguous at each step.
    ///
    /// # Panics
    /// If no kernel has this size.
    fn kernel(isa: Isa, vectors: usize, columns: usize, packed: bool) -> Kernel<Self::Real>;
}

/// Pointers to every third column of `right`; processors add one or two strides at no cost.
type Columns<R> = [*const R; 6];

#[inline(always)]
fn columns<R>(right: *const R, column: isize) -> Columns<R> {
    std::array::from_fn(|group| right.wrapping_offset(3 * group as isize * column))
}

/// The columns at the next step; a closure would take longer to compile.
#[inline(always)]
fn advanced<R>([c0, c3, c6, c9, c12, c15]: Columns<R>, step: isize) -> Columns<R> {
    let at = |column: *const R| column.wrapping_offset(step);
    [at(c0), at(c3), at(c6), at(c9), at(c12), at(c15)]
}

enum RemainingWork {
    Nothing,
    /// The sums must still be scaled, combined, masked or added to `out`.
    Write,
    All,
}

/// If there is specialised code, computes a tile of `V` vectors by `N` columns of `PARTS` real numbers, or its sums,
/// and returns the remaining work. `store` is [`Call::store`], or `None` for complex types. `sums` has room for each
/// vector and each part of a column.
///
/// # Safety
/// Same as for [`Call`]. The processor must support the instruction set `S`, and `sums` must be writable.
#[inline(always)]
unsafe fn compute_specialised<
    S: TileSums<R>,
    R: Real,
    const V: usize,
    const N: usize,
    const PARTS: usize,
    const PACKED: bool,
>(
    call: &Call<R>,
    tile_offset: &TileOffsets,
    at: usize,
    store: Option<Store>,
    sums: *mut R,
) -> RemainingWork {
    const { assert!(N * PARTS <= MAX_SUMS) };
    prefetch_out::<R, V, N>(call, tile_offset, PARTS as isize);
    let whole = call.rows == V * S::LANES;
    if !whole && !call.left_padded {
        return RemainingWork::All;
    }
    let store = if whole { store } else { None };
    let column = if PACKED { PARTS as isize } else { call.right_column };
    let [lines, lines_end] = call.lines;
    let lines = lines.wrapping_add(at * lines_of_tile(call.depth));
    let mut sum = sum(call, tile_offset, at, column);
    if lines < lines_end {
        sum.ahead = LIST;
    }
    let lines = Cell::new(lines);
    let place = match store {
        Some(store) => {
            let [_, second, third] = tile_offset.vectors;
            let out = call.out.wrapping_offset(tile_offset.out);
            TileDestination { out, columns: call.columns, vectors: [second, third], store, lines, lines_end }
        }
        None => {
            let columns = const { &columns_of(V * S::LANES) };
            let vectors = [1, 2].map(|vector| (vector * S::LANES) as isize);
            TileDestination { out: sums, columns: columns.as_ptr(), vectors, store: Store::Overwrite, lines, lines_end }
        }
    };
    // SAFETY: all vectors are full, or may be read in full and are written to `sums`, which is large enough.
    match unsafe { S::sums::<V, N, PARTS>(&sum, &place) } {
        false => RemainingWork::All,
        true if store.is_some() => RemainingWork::Nothing,
        true => RemainingWork::Write,
    }
}

#[inline(always)]
fn sum<R>(call: &Call<R>, tile_offset: &TileOffsets, at: usize, column: isize) -> Sum<R> {
    let bytes = |reals: isize| reals * size_of::<R>() as isize;
    Sum {
        depth: call.depth,
        left: call.left_of(tile_offset, at),
        left_step: bytes(call.left_step),
        ahead: bytes(call.ahead),
        right: call.right_of(tile_offset),
        right_step: bytes(call.right_step),
        column: bytes(column),
        next: call.next_of(tile_offset, at),
    }
}

/// Maximum columns of sums, two for a complex column.
const MAX_SUMS: usize = 24;

const fn columns_of(reals: usize) -> [isize; MAX_SUMS] {
    let mut columns = [0; MAX_SUMS];
    let mut n = 1;
    while n < MAX_SUMS {
        columns[n] = columns[n - 1] + reals as isize;
        n += 1;
    }
    columns
}

#[inline(always)]
fn prefetch_out<R, const V: usize, const N: usize>(call: &Call<R>, tile_offset: &TileOffsets, parts: isize) {
    if call.streams || !call.prefetches_out {
        return;
    }
    let out = call.out.wrapping_offset(tile_offset.out);
    for n in 0..N {
        // SAFETY: every column has an offset.
        let to = out.wrapping_offset(parts * unsafe { *call.columns.add(n) });
        (0..V).for_each(|v| prefetch(to.wrapping_offset(tile_offset.vectors[v])));
    }
}

/// Defines the look-up of kernels for one instruction set; the widest tiles are also compiled for packed columns.
///
/// If `compute` and `write` were one function, the compiler would keep sums in memory.
macro_rules! kernels {
    ($find:ident, $real:ident, $complex:ident, $isa:ident, $(#[$feature:meta])?
     real { $($v:literal: $($n:literal)* and $packed:literal;)* }
     complex { $($cv:literal: $($cn:literal)* and $cpacked:literal;)* }) => {
        kernels!($real, real, $isa, $(#[$feature])?);
        kernels!($complex, complex, $isa, $(#[$feature])?);

        fn $find<R: Real>(parts: usize, vectors: usize, columns: usize, packed: bool) -> Option<Kernel<R>>
        where
            $isa: TileSums<R>,
        {
            Some(match (parts, vectors, columns, packed) {
                $((1, $v, $packed, true) => $real::<R, $v, $packed, true>,)*
                $((2, $cv, $cpacked, true) => $complex::<R, $cv, $cpacked, true>,)*
                $($((1, $v, $n, _) => $real::<R, $v, $n, false>,)*)*
                $($((2, $cv, $cn, _) => $complex::<R, $cv, $cn, false>,)*)*
                _ => return None,
            })
        }
    };
    ($kernel:ident, $parts:ident, $isa:ident, $(#[$feature:meta])?) => {
        /// # Safety
        /// Same as for [`Call`], and the processor must support the kernel's instruction set.
        $(#[$feature])?
        unsafe fn $kernel<R: Real, const V: usize, const N: usize, const P: bool>(call: &Call<R>, tile_offsets: &[TileOffsets])
        where
            $isa: TileSums<R>,
        {
            /// # Safety
            /// Same as for [`Call`], and the processor must support the kernel's instruction set.
            $(#[$feature])?
            #[inline(never)]
            unsafe fn compute<R: Real, const V: usize, const N: usize, const P: bool>(
                call: &Call<R>,
                tile_offset: &TileOffsets,
                at: usize,
            ) where
                $isa: TileSums<R>,
            {
                // SAFETY: guaranteed by the caller.
                unsafe { $parts::tile::<$isa, R, V, N, P>(call, tile_offset, at) }
            }

            /// For any number of columns, to save build time.
            ///
            /// # Safety
            /// Same as for [`Call`], and the processor must support the kernel's instruction set.
            $(#[$feature])?
            #[inline(never)]
            unsafe fn write<R: Real, const V: usize>(
                call: &Call<R>,
                tile_offset: &TileOffsets,
                sums: &[$parts::ColumnSums<<$isa as Simd<R>>::Vector, V>],
            ) where
                $isa: Simd<R>,
            {
                for (n, sums) in sums.iter().enumerate() {
                    // SAFETY: guaranteed by the caller.
                    unsafe { $parts::put::<$isa, R, V>(call, tile_offset, n, sums) }
                }
            }

            let mut sums = MaybeUninit::<[$parts::ColumnSums<<$isa as Simd<R>>::Vector, V>; N]>::uninit();
            // Complex sums must be combined before they are written.
            let store = if $parts::PARTS == 1 { call.store() } else { None };
            for (at, tile_offset) in tile_offsets.iter().enumerate() {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let room = sums.as_mut_ptr().cast();
                    let remaining =
                        compute_specialised::<$isa, R, V, N, { $parts::PARTS }, P>(call, tile_offset, at, store, room);
                    match remaining {
                        RemainingWork::Nothing => (),
                        RemainingWork::Write => write::<R, V>(call, tile_offset, sums.assume_init_ref()),
                        RemainingWork::All => compute::<R, V, N, P>(call, tile_offset, at),
                    }
                }
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
kernels!(
    find_avx512, real_avx512, complex_avx512, Avx512,
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    real { 1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 and 16; 2: 1 2 3 4 5 6 7 8 9 10 11 12 and 12; 3: 1 2 3 4 5 6 7 8 and 8; }
    complex { 1: 1 2 3 4 5 6 7 8 9 10 11 12 and 12; 2: 1 2 3 4 5 6 and 6; 3: 1 2 3 4 and 4; }
);

#[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
kernels!(
    find_avx2, real_avx2, complex_avx2, Avx2,
    #[target_feature(enable = "avx2,fma")]
    real { 1: 1 2 3 4 5 6 7 8 and 8; 2: 1 2 3 4 5 6 and 6; 3: 1 2 3 4 and 4; }
    complex { 1: 1 2 3 4 5 6 and 6; 2: 1 2 3 and 3; }
);

#[cfg(all(target_arch = "aarch64", not(portable_kernels)))]
kernels!(
    find_neon, real_neon, complex_neon, Neon,
    real { 1: 1 2 3 4 5 6 7 8 9 10 11 12 and 12; 2: 1 2 3 4 5 6 7 8 9 10 11 12 and 12; 3: 1 2 3 4 5 6 7 8 and 8; }
    complex { 1: 1 2 3 4 5 6 7 8 and 8; 2: 1 2 3 4 5 6 and 6; }
);

kernels!(
    find_generic, real_generic, complex_generic, Generic,
    real { 1: 1 2 3 4 and 4; 2: 1 2 3 4 and 4; }
    complex { 1: 1 2 3 4 and 4; 2: 1 2 and 2; }
);

macro_rules! vectorized {
    ($real:ty, $element:ty, $parts:literal, $split:expr) => {
        impl Vectorized for $element {
            type Real = $real;

            const PARTS: usize = $parts;

            fn parts(self) -> [$real; 2] {
                $split(self)
            }

            fn kernel(isa: Isa, vectors: usize, columns: usize, packed: bool) -> Kernel<$real> {
                let found = match isa {
                    #[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
                    Isa::Avx512 => find_avx512($parts, vectors, columns, packed),
                    #[cfg(all(target_arch = "x86_64", not(portable_kernels)))]
                    Isa::Avx2 => find_avx2($parts, vectors, columns, packed),
                    #[cfg(all(target_arch = "aarch64", not(portable_kernels)))]
                    Isa::Neon => find_neon($parts, vectors, columns, packed),
                    _ => find_generic($parts, vectors, columns, packed),
                };
                found.unwrap_or_else(|| panic!("no {} kernel of {vectors} vectors by {columns} columns", isa.name()))
            }
        }
    };
}

vectorized!(f32, f32, 1, |value| [value, 0.0]);
vectorized!(f64, f64, 1, |value| [value, 0.0]);
vectorized!(f32, Complex<f32>, 2, |value: Complex<f32>| [value.re, value.im]);
vectorized!(f64, Complex<f64>, 2, |value: Complex<f64>| [value.re, value.im]);
