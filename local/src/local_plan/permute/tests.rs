//! Unit tests of `permute`.

use super::*;

/// Plans a copy, and checks that its blocks have the same number of elements as the tensor.
fn covers(dims: &[Dim<2>], bytes: usize, threads: usize) -> Permute {
    let plan = Permute::new(dims, bytes, threads);
    let blocks = plan.blocks();
    let mut moved = 0;
    for share in 0..plan.shares() {
        for block in plan.share(share) {
            let mut rest = block;
            let mut index = vec![0; blocks.outer.len()];
            for (at, dim) in blocks.outer.iter().enumerate().rev() {
                index[at] = rest % dim.extent;
                rest /= dim.extent;
            }
            let counts = [&blocks.cols, &blocks.rows].map(|side| side.count(index[side.outer]));
            assert!(counts.iter().all(|&count| count > 0));
            moved += counts[0] * counts[1] * plan.widened();
        }
    }
    assert_eq!(moved, dims.iter().map(|d| d.extent).product::<usize>());
    plan
}

fn transposed(extents: &[usize]) -> Vec<Dim<2>> {
    let (mut from, mut to) = (extents.iter().map(|&e| e.max(1)).product::<usize>(), 1);
    let dim = |&extent: &usize| {
        from /= extent.max(1);
        let strides = [from as isize, to as isize];
        to *= extent.max(1);
        Dim { extent, strides }
    };
    extents.iter().map(dim).collect()
}

#[test]
fn every_index_is_in_one_block() {
    for extents in [&[][..], &[0, 3], &[1, 1], &[7], &[5, 9], &[300, 500], &[24, 20, 20, 24], &[2; 15], &[16; 5]] {
        for bytes in [4, 8, 16] {
            for threads in [1, 2, 3] {
                covers(&transposed(extents), bytes, threads);
            }
        }
    }
}

#[test]
fn small_dimensions_make_long_stretches() {
    let plan = covers(&transposed(&[2; 22]), 4, 1);
    assert_eq!(plan.kind(), CopyKind::Tiles { buffered: true });
    assert_eq!(plan.blocks().cols.inner * plan.blocks().cols.block(), BUFFERED_STRETCH_BYTES[FROM] / 4);
    assert_eq!(plan.blocks().rows.inner * plan.blocks().rows.block(), BUFFERED_STRETCH_BYTES[TO] / 4);
}

#[test]
fn pairs_move_as_one() {
    let dims = [[8, 2], [1, 1], [2, 32]].map(|strides| Dim { extent: 2, strides });
    assert_eq!(covers(&dims, 4, 1).widened(), 2);
    assert_eq!(covers(&dims, 16, 1).widened(), 1);
}

#[test]
fn a_copy_is_one_loop_of_lines() {
    let dims = [[20, 20], [1, 1]].map(|strides| Dim { extent: 20, strides });
    let plan = covers(&dims, 8, 1);
    assert_eq!((plan.kind(), plan.blocks().count()), (CopyKind::Lines { streams: false }, 1));
}
