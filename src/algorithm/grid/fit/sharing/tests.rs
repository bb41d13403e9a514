//! Unit tests of `sharing`.

use super::*;

#[test]
fn parts_are_not_cut_along_what_nobody_is_to_have_a_part_of() {
    let [m, n, k] = [0, 1, 2].map(Label);
    let kinds = Kinds { c: vec![], m: vec![m], n: vec![n], k: vec![k] };
    let fit = GridFit { kinds: &kinds, extents: &[64, 8, 64], uncut: &[m], ranks: 4, memory: None };
    assert_eq!(fit.shared(&[(k, 4)])[2], [Sharing { cut: (k, 0), along: n, ranks: 4 }]);
    let fit = GridFit { uncut: &[m, n], ..fit };
    assert_eq!(fit.shared(&[(k, 4)])[2], []);
}

#[test]
fn parts_of_many_ranks_are_cut_along_several_dimensions() {
    let [m, n, k] = [0, 1, 2].map(Label);
    let kinds = Kinds { c: vec![], m: vec![m], n: vec![n], k: vec![k] };
    let fit = GridFit { kinds: &kinds, extents: &[17_408, 17_408, 1 << 20], uncut: &[], ranks: 2304, memory: None };
    let [left, right, out] = fit.shared(&[(m, 2), (n, 2), (k, 576)]);
    assert_eq!(left, [Sharing { cut: (n, 0), along: k, ranks: 2 }]);
    assert_eq!(right, [Sharing { cut: (m, 0), along: k, ranks: 2 }]);
    let [first, second] = [m, n].map(|along| Sharing { cut: (k, 0), along, ranks: 24 });
    assert_eq!(out, [first, second]);
}

#[test]
fn operands_are_not_cut_into_uneven_parts_of_a_few_summed_indices() {
    let [m, n, k] = [0, 1, 2].map(Label);
    let kinds = Kinds { c: vec![], m: vec![m], n: vec![n], k: vec![k] };
    let fit = GridFit { kinds: &kinds, extents: &[1820, 1237, 9], uncut: &[], ranks: 15, memory: None };
    let [left, right, _] = fit.shared(&[(m, 5), (n, 3)]);
    assert_eq!(left, [Sharing { cut: (n, 0), along: k, ranks: 3 }]);
    assert_eq!(right, [Sharing { cut: (m, 0), along: n, ranks: 5 }]);
    assert!([(9, 3), (50, 7), (5, 1), (1 << 60, 1)].iter().all(|&(length, ranks)| even(length, ranks)));
    assert!([(9, 5), (2, 3), (49, 2)].iter().all(|&(length, ranks)| !even(length, ranks)));
}
