//! Tests a sparse .npy file with more than 2^31 elements and more than 4 GiB, most of which is never written.

use std::path::Path;

use einsum_dist::distribution::Distribution;
use einsum_dist::{DistTensor, Dtype, NpyOutput, World};

/// Shape of an array of 2.2 billion elements.
const SHAPE: [usize; 3] = [2, 46_001, 24_007];

/// Corners and extents of the written boxes. They contain the start of the file, the elements around byte 2^32 and
/// around element 2^31, some columns of all rows, and the end of the file.
const PARTS: [([usize; 3], [usize; 3]); 5] = [
    ([0, 0, 0], [1, 40, 24_007]),
    ([0, 44_700, 0], [1, 60, 24_007]),
    ([1, 43_430, 0], [1, 50, 24_007]),
    ([0, 0, 12_000], [2, 46_001, 9]),
    ([1, 45_990, 20_000], [1, 11, 4_007]),
];

fn value(at: [usize; 3]) -> f32 {
    let place = (at[0] * SHAPE[1] + at[1]) * SHAPE[2] + at[2];
    let written =
        PARTS.iter().any(|(corner, extents)| (0..3).all(|d| (corner[d]..corner[d] + extents[d]).contains(&at[d])));
    if written { (place % 65_521 + 1) as f32 } else { 0.0 }
}

/// Writes the boxes in blocks distributed over all ranks, and reads larger boxes in different blocks. Collective.
pub fn large_file(world: &World, path: &Path) {
    let elements: usize = SHAPE.iter().product();
    assert!(elements > 1 << 31 && 4 * elements > 1 << 32);
    let beyond = |corner: [usize; 3], at: &[usize]| [0, 1, 2].map(|d| corner[d] + at[d]);
    let output = NpyOutput::create(world, path, Dtype::Float32, &SHAPE).unwrap();
    for (corner, extents) in PARTS {
        let rows = Distribution::cut(1, world.ranks());
        let part = DistTensor::from_fn(world, &extents, &rows, |at| value(beyond(corner, at)));
        output.write(&part, &corner).unwrap();
    }
    output.commit().unwrap();
    for (corner, extents) in PARTS {
        let start = corner.map(|at: usize| at.saturating_sub(3));
        let extents = [0, 1, 2].map(|d| (corner[d] + extents[d] + 2).min(SHAPE[d]) - start[d]);
        let mut read = DistTensor::<f32>::zeros(world, &extents, &Distribution::cut(2, world.ranks()));
        read.read_npy(world, path, &start).unwrap();
        for (region, block) in read.blocks() {
            let (bounds, _) = region.stored_boxes().next().expect("one box");
            let intact = block
                .indexed_iter()
                .all(|(at, &element)| element == value([0, 1, 2].map(|d| start[d] + bounds[d].start + at[d])));
            assert!(intact, "other elements came back from {start:?}");
        }
    }
}
