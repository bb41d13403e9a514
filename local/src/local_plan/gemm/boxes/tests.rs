//! Unit tests of `boxes`.

use super::*;

fn dims<const N: usize>(extents: [usize; N]) -> [AxisDim; N] {
    extents.map(|extent| AxisDim { extent, tile: extent, strides: [1, 1] })
}

fn grown<const N: usize>(extents: [usize; N], need: [usize; N], most: usize, units: (usize, usize)) -> [usize; N] {
    let mut dims = dims(extents);
    grow(&mut dims, &need, most, units);
    dims.map(|dim| dim.tile)
}

#[test]
fn boxes_grow_as_far_as_there_is_room() {
    assert_eq!(grown([], [], 10, (4, 1)), [0; 0]);
    assert_eq!(grown([52, 52], [1, 1], 5000, (16, 1)), [52, 52], "all fits");
    assert_eq!(grown([100], [1], 40, (16, 1)), [34], "three even pieces");
    assert_eq!(grown([100], [1], 45, (16, 1)), [48], "whole units, with a tenth more room");
    assert_eq!(grown([100], [1], 8, (16, 1)), [16], "a unit at least");
    assert_eq!(grown([52, 52], [26, 16], 416, (1, 1)), [26, 16], "as much as is needed");
    assert_eq!(grown([8, 32, 8], [1, 1, 8], 704, (48, 1)), [8, 11, 8]);
    assert_eq!(grown([8, 32, 8], [1, 1, 8], 704, (48, 2)), [8, 12, 8], "8 times 12 are two units of 48");
    let mut fixed = dims([8, 32]);
    fixed[1].tile = 0;
    grow(&mut fixed, &[1, 1], 100, (4, 1));
    assert_eq!(fixed.map(|dim| dim.tile), [8, 1], "what has no tile stays alone");
}

#[test]
fn runs_go_on_while_strides_do() {
    let dim = |extent, strides| AxisDim { extent, tile: extent, strides };
    let dims = [dim(4, [1, 8]), dim(2, [4, 1]), dim(3, [8, 100])];
    let run = |tensors| run_of_box(&dims, |i| dims[i].extent, tensors);
    let of = |tensors| (run_dims(&dims, |i| dims[i].extent, tensors), run(tensors));
    assert_eq!(of([true, false]), (3, 24));
    assert_eq!(of([false, true]), (1, 4));
    assert_eq!(of([true, true]), (1, 4));
    assert_eq!(of([false, false]), (3, 24));
    assert_eq!(run_of_box(&[], |_| 0, [true, true]), 1);
    // In a box that contains only half of the first dimension, a run contains only the indices of this half.
    assert_eq!(run_of_box(&dims, |i| [2, 2, 3][i], [true, false]), 2);
}
