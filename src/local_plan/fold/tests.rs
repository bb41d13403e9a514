//! Unit tests of `fold`.

use super::*;

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
