//! Unit tests of `check`, with the codes of ScaLAPACK 2.2.

use super::*;

fn checked(change: impl FnOnce(&mut Submatrix)) -> c_int {
    let grid = Grid { shape: [2, 3], place: [1, 2] };
    let of = Descriptor {
        kind: BLOCK_CYCLIC_WITH_FIRST,
        context: 5,
        shape: [20, 30],
        first: [4, 4],
        block: [4, 4],
        source: [0, 0],
        leading: 8,
    };
    let argument = |value, position| Argument { value, position };
    let mut matrix = Submatrix { extents: [argument(7, 3), argument(9, 5)], start: [2, 3], of, position: 10 };
    change(&mut matrix);
    let mut check = Check::new(5, grid);
    check.submatrix(&matrix);
    check.code()
}

#[test]
fn wrong_arguments_have_the_codes_of_pblas() {
    assert_eq!(checked(|_| {}), 0);
    assert_eq!(checked(|matrix| matrix.extents[0].value = -1), -3);
    assert_eq!(checked(|matrix| matrix.extents[1].value = -1), -5);
    assert_eq!(checked(|matrix| matrix.start[0] = -1), -8);
    assert_eq!(checked(|matrix| matrix.start[1] = -1), -9);
    assert_eq!(checked(|matrix| matrix.start[0] = 14), -8);
    assert_eq!(checked(|matrix| matrix.of.kind = 501), -1001);
    assert_eq!(checked(|matrix| matrix.of.context = 4), -1002);
    assert_eq!(checked(|matrix| matrix.of.shape[0] = 0), -1003);
    assert_eq!(checked(|matrix| matrix.of.first[1] = 0), -1006);
    assert_eq!(checked(|matrix| matrix.of.block[0] = 0), -1007);
    assert_eq!(checked(|matrix| matrix.of.source[0] = 2), -1009);
    assert_eq!(checked(|matrix| matrix.of.source[1] = -2), -1010);
    assert_eq!(checked(|matrix| matrix.of.source = [-1, -1]), -1011);
    assert_eq!(checked(|matrix| matrix.of.leading = 7), -1011);
    // The smallest position counts.
    assert_eq!(checked(|matrix| (matrix.extents[0].value, matrix.of.block[0]) = (-1, 0)), -3);
}
