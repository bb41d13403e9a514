//! Unit tests of `cost`.

use smallvec::smallvec;

use super::super::Slab;
use super::*;
use crate::local_plan::{Caches, Dim, Isa, KernelFamily};

#[test]
fn lines_a_page_apart_crowd_a_set() {
    assert!(crowded(4096, 12) && crowded(8192, 8) && crowded(2048, 12));
    // A stride of just over a page maps too many successive lines to the same set.
    assert!(crowded(4100, 12));
    // These cases access a single line, only a few lines, or lines in many sets.
    assert!(!crowded(0, 12) && !crowded(4096, 4) && !crowded(1000 * 8, 8) && !crowded(512, 12));
}

/// Tests the cost of panels that end early because a box cuts a run. Runs of 8 x 32 = 256 rows are contiguous in `out`,
/// but a box contains only 8 x 5 = 40 rows of each run. Panels of up to 48 rows then have only 40 rows each, whereas
/// complete runs would fill most panels.
#[test]
fn panels_that_end_with_the_runs_of_a_box_are_paid_for() {
    let dim = |extent, tile, strides| AxisDim { extent, tile, strides };
    let of = |tile: usize| Candidate {
        swapped: false,
        batches: 1.0,
        slab: Slab { dim: Dim { extent: 1, strides: [0; 3] }, size: 1 },
        rows: smallvec![dim(8, 8, [73728, 1]), dim(32, tile, [96, 8]), dim(8, 8, [1, 16384])],
        cols: smallvec![dim(64, 64, [288, 256]), dim(84, 42, [18432, 131072])],
        depth: smallvec![dim(24, 24, [3072, 1]), dim(12, 12, [8, 24])],
        runs: [[false, true], [true, false]],
        vectors: 3,
        columns: 8,
        access: [Access::Packed(PackBy::Across), Access::InPlace],
        out: OutAccess::Direct,
        columns_inside: false,
    };
    let caches = Caches { l2: 1 << 20, ..Caches::default() };
    let target = Target { isa: Isa::Avx512, family: KernelFamily::Own, caches, threads: 1 };
    let [cut, whole] = [5, 32].map(|tile| cost(&of(tile), Dtype::Float32, &target, f64::INFINITY).total());
    assert!(cut > 1.15 * whole, "{cut} over {whole}");
}
