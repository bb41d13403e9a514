//! Unit tests of `tile_offsets`.

use super::*;
use crate::local_plan::{Axis, AxisDim};

#[test]
fn vectors_may_lie_apart_and_rows_of_one_not() {
    let dim = |extent, out| AxisDim { extent, tile: extent, strides: [1, out] };
    let axis = Axis::new(vec![dim(4, 1), dim(3, 10)], [false; 2]);
    let of = |vectors, lanes| RowTiles::new(&axis.tables()[0], [lanes, vectors], 1, true, false);
    let tile_offset = |left, out, vectors| TileOffsets { left, right: 0, out, vectors };
    let group = |first, rows, layout| Group { first, count: 1, rows, layout };
    let tiles = of(2, 4);
    assert_eq!(tiles.tile_offsets, [tile_offset(0, 0, [0, 10, 0]), tile_offset(2, 20, [0, 4, 8])]);
    assert_eq!(tiles.groups, [group(0, 8, RowLayout::Vectors), group(1, 4, RowLayout::Dense)]);
    let tiles = of(3, 2);
    assert_eq!(tiles.tile_offsets, [tile_offset(0, 0, [0, 2, 10]), tile_offset(3, 12, [0, 8, 10])]);
    assert_eq!(tiles.groups, [Group { first: 0, count: 2, rows: 6, layout: RowLayout::Vectors }]);
    assert_eq!(of(2, 3).groups, [Group { first: 0, count: 2, rows: 6, layout: RowLayout::Scattered }]);
}
