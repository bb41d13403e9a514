//! Unit tests of `walk`.

use super::*;

#[test]
fn walks_round() {
    let dims = [Dim { extent: 2, strides: [10, 0] }, Dim { extent: 3, strides: [-1, 1] }];
    let mut walk = Walk::new();
    for _ in 0..2 {
        let mut seen = vec![walk.at()];
        while walk.next(&dims) {
            seen.push(walk.at());
        }
        assert_eq!(seen, [[0, 0], [-1, 1], [-2, 2], [10, 0], [9, 1], [8, 2]]);
    }
    assert!(!Walk::<1>::new().next(&[]));
}
