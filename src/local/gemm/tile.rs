//! The sizes of micro-kernels.

use crate::local::Isa;

/// Tiles of out that fit the registers, as vectors (along rows) by columns; kernels with fewer columns exist too.
pub const fn register_tiles(isa: Isa, complex: bool) -> &'static [(usize, usize)] {
    match (isa, complex) {
        (Isa::Avx512, false) => &[(1, 14), (2, 14), (3, 8)],
        (Isa::Avx512, true) => &[(1, 12), (2, 6)],
        (Isa::Avx2, false) => &[(1, 8), (2, 6), (3, 4)],
        (Isa::Avx2, true) => &[(1, 6), (2, 3)],
        (Isa::Neon, false) => &[(1, 12), (2, 12), (3, 8)],
        (Isa::Neon, true) => &[(1, 8), (2, 6)],
        (Isa::Generic, false) => &[(1, 4), (2, 4)],
        (Isa::Generic, true) => &[(1, 4), (2, 2)],
    }
}
