//! Unit tests of `partial`.

use super::*;

#[test]
fn all_of_out_is_inside() {
    let dim = |extent, out| Dim { extent, strides: [1, 1, out] };
    let partial = Partial::new(&[vec![], vec![dim(4, -5)], vec![dim(5, 1)], vec![dim(100, 0)]]);
    assert_eq!(partial, Partial { first: 15, len: 20 });
}

#[test]
fn deep_sums_are_halved_where_there_is_room() {
    use crate::local_plan::{Caches, Isa, KernelFamily};
    let target = Target {
        isa: Isa::Generic,
        family: KernelFamily::Own,
        caches: Caches { l1: 32 << 10, l2: 1 << 20 },
        threads: 1,
    };
    let halves = |len, boxes| Partial { first: 0, len }.halves(boxes, 1, 0, Dtype::Float32, &target);
    assert_eq!(halves(64, 20), (20, 0));
    assert_eq!(halves(64, 33), (17, 1));
    assert_eq!(halves(64, 200_000), (25, 13));
    assert_eq!(halves(1 << 21, 100), (100, 0), "no room");
    assert_eq!(halves(1 << 19, 100), (25, 2), "room for two partial sums");
    assert_eq!(halves(1 << 21, 1000), (125, 3), "or chains became too long");
}

#[test]
fn partial_sums_of_a_large_out_are_not_kept() {
    let most = |len| Partial { first: 0, len }.most_parts(4, 2);
    assert_eq!(most(184 * 184), 62);
    assert_eq!(most(1 << 20), 3);
    assert_eq!(most(10_000 * 10_000), 1);
}
