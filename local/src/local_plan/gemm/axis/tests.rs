//! Unit tests of `axis`.

use super::*;

#[test]
fn equal_lists_are_held_once() {
    let axis = |stride| Axis::new(vec![AxisDim { extent: 7, tile: 4, strides: [1, stride] }], [false; 2]);
    let (held, mut axis) = (axis(10), axis(20));
    let unshared = axis.clone();
    axis.share(&held);
    assert_eq!(axis, unshared);
    for (table, like) in axis.tables().iter().zip(held.tables()) {
        assert!(Arc::ptr_eq(&table.offsets[0], &like.offsets[0]));
        assert!(table.offsets[1] != like.offsets[1]);
        assert!(table.even.iter().all(|even| Arc::ptr_eq(even, &like.even[0])));
    }
}

#[test]
fn boxes_cover_every_index_once() {
    let dim = |extent, tile, strides| AxisDim { extent, tile, strides };
    let axis = Axis::new(vec![dim(5, 2, [1, 30]), dim(3, 3, [5, 1]), dim(4, 3, [15, 150])], [false; 2]);
    let mut seen = Vec::new();
    for number in 0..axis.boxes() {
        let at = axis.at(number);
        assert!(at.table.len() <= axis.longest());
        seen.extend(at.table.offsets[0].iter().map(|offset| at.start[0] + offset));
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..60).collect::<Vec<isize>>());
}

#[test]
fn tables_know_runs_and_neighbours() {
    let dim = |extent, strides| AxisDim { extent, tile: extent, strides };
    let axis = Axis::new(vec![dim(3, [1, 8]), dim(2, [3, 1]), dim(2, [9, 2])], [true; 2]);
    let table = axis.at(0).table;
    assert_eq!(*table.offsets[0], [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14]);
    assert_eq!(table.run(0, 0, 99), (6, 1));
    assert_eq!(table.run(0, 5, 99), (2, 4));
    assert!(table.is_dense(0, 1, 5) && !table.is_dense(0, 1, 6) && table.is_dense(0, 11, 1));
    assert_eq!(table.unit, [Some((1, 3)), Some((3, 2))]);
    assert_eq!((table.run, table.panels(2).len()), (3, 8));
    assert_eq!(table.panel_of(5, 2), (Panel { number: 3, first: 5, len: 1 }, 0));
}

#[test]
fn no_dimension_is_one_index() {
    let axis = Axis::new(Vec::new(), [true; 2]);
    assert_eq!((axis.boxes(), axis.longest()), (1, 1));
    assert!(axis.at(0).table.is_dense(0, 0, 1));
}

#[test]
fn lines_cover_the_contiguous_dimension() {
    for extent in [1, 3, 4, 5, 9] {
        let dim = |extent, stride| AxisDim { extent, tile: extent, strides: [stride, 1] };
        let mut axis = Axis::new(vec![dim(2, 100), dim(extent, 1)], [false; 2]);
        axis.find_lines(0, 4);
        let starts = (0..extent as isize).filter(|at| at % 4 == 0 || *at == extent as isize - 1);
        let want: Vec<isize> = starts.flat_map(|at| [at, at + 100]).collect();
        assert_eq!(*axis.at(0).table.lines[0], want);
    }
}
