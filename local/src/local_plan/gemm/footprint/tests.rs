//! Unit tests of `footprint`.

use super::*;

/// A function of the footprint of a box.
fn of<R>(dims: &[(usize, usize, isize)], value: impl Fn(Footprint) -> R) -> R {
    let dims: Vec<_> =
        dims.iter().map(|&(extent, tile, stride)| AxisDim { extent, tile, strides: [stride, 0] }).collect();
    value(Footprint::new([&dims, &[]], [0, 0]))
}

#[test]
fn neighbours_go_on_through_whole_dimensions() {
    assert_eq!(of(&[(8, 8, 1), (5, 2, 8), (9, 9, 40)], |of| of.contiguous()), 16);
    assert_eq!(of(&[(8, 4, 1), (5, 5, 8)], |of| of.contiguous()), 4);
    assert_eq!(of(&[(5, 5, 8), (8, 8, -1), (1, 1, 1)], |of| of.contiguous()), 40);
    assert_eq!(of(&[], |of| of.contiguous()), 1);
}

#[test]
fn lines_that_boxes_share_move_more_than_once() {
    assert_eq!(of(&[(64, 32, 1), (10, 3, 64)], |of| of.moved(16)), 1.0);
    assert_eq!(of(&[(72, 32, 1), (10, 3, 72)], |of| of.moved(16)), 1.5);
    assert_eq!(of(&[(64, 1, 1), (10, 10, 64)], |of| of.moved(16)), 17.0);
    assert_eq!(of(&[(64, 64, 2), (10, 10, 128)], |of| of.moved(16)), 2.0);
}

#[test]
fn pages_hold_what_lies_close_enough() {
    assert_eq!(of(&[(100, 50, 1)], |of| of.on_one_page(4)), 50.0);
    assert_eq!(of(&[(10, 10, 1), (100, 100, 500)], |of| of.on_one_page(4)), 20.0);
    assert_eq!(of(&[(3, 3, 1024), (7, 7, 100_000)], |of| of.on_one_page(4)), 1.0);
    assert_eq!(of(&[(5000, 5000, 1)], |of| of.on_one_page(8)), 512.0);
}
