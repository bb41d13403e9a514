//! Sizes of register tiles, the tiles of `out` that a micro-kernel computes.

use crate::local_plan::{Isa, KernelFamily};

pub const MAX_COLUMNS: usize = 48;

/// Tiles that fit into registers, as vectors (along rows) by columns. Each also has kernels with fewer columns.
///
/// LIBXSMM divides products itself, fastest up to extents of about 64.
pub const fn register_tiles(isa: Isa, family: KernelFamily, complex: bool) -> &'static [(usize, usize)] {
    if matches!(family, KernelFamily::Xsmm) {
        return &[(1, MAX_COLUMNS), (2, MAX_COLUMNS), (3, MAX_COLUMNS), (4, MAX_COLUMNS)];
    }
    match (isa, complex) {
        (Isa::Avx512, false) => &[(1, 16), (2, 12), (3, 8)],
        (Isa::Avx512, true) => &[(1, 12), (2, 6), (3, 4)],
        (Isa::Avx2, false) => &[(1, 8), (2, 6), (3, 4)],
        (Isa::Avx2, true) => &[(1, 6), (2, 3)],
        (Isa::Neon, false) => &[(1, 12), (2, 12), (3, 8)],
        (Isa::Neon, true) => &[(1, 8), (2, 6)],
        (Isa::Generic, false) => &[(1, 4), (2, 4)],
        (Isa::Generic, true) => &[(1, 4), (2, 2)],
    }
}

/// Cycles of a step of the sum. A core executes two multiply-adds and two loads per cycle, and a step takes at least a
/// multiply-add's latency. Loads always cost a little.
pub(super) fn cycles_of_step(vectors: usize, columns: usize) -> f64 {
    let (multiply_adds, loads) = ((vectors * columns) as f64, (vectors + columns) as f64);
    (multiply_adds / 2.0).max(loads / 2.0).max(4.0) + loads / 10.0
}
