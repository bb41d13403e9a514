//! Unit tests of `fold`.

use super::*;

#[test]
fn contiguous_loops_fuse() {
    let rows = Dim { extent: 3, strides: [20, 4] };
    let columns = Dim { extent: 4, strides: [5, 1] };
    assert_eq!(fold(vec![columns, rows]), [Dim { extent: 12, strides: [5, 1] }]);
}

#[test]
fn a_gap_in_one_tensor_prevents_fusing() {
    let dims = vec![Dim { extent: 3, strides: [4, 5] }, Dim { extent: 4, strides: [1, 1] }];
    assert_eq!(fold(dims.clone()), dims);
}

#[test]
fn negative_strides_fuse_when_all_agree() {
    let dims = vec![Dim { extent: 3, strides: [-4] }, Dim { extent: 4, strides: [-1] }];
    assert_eq!(fold(dims), [Dim { extent: 12, strides: [-1] }]);
}

#[test]
fn extents_of_one_vanish_and_of_zero_stay() {
    let dims = vec![Dim { extent: 1, strides: [7] }, Dim { extent: 0, strides: [1] }];
    assert_eq!(fold(dims), [Dim { extent: 0, strides: [1] }]);
}

#[test]
fn few_and_many_are_the_same_list() {
    let dim = |i: usize| Dim { extent: i, strides: [i as isize] };
    let mut loops: Loops<1> = (0..10).map(dim).collect();
    assert_eq!(loops[..], (0..10).map(dim).collect::<Vec<_>>());
    for left in (0..10).rev() {
        assert_eq!(loops.remove(0), dim(9 - left));
        assert_eq!(loops.len(), left);
    }
}
