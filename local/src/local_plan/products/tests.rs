//! Unit tests of `products`.

use super::*;

fn dim(extent: usize, strides: [isize; 3]) -> Dim<3> {
    Dim { extent, strides }
}

/// Returns the dimensions of `bmk,bkn->bmn` with these extents.
fn row_major(b: usize, [m, n, k]: [isize; 3]) -> [Vec<Dim<3>>; 4] {
    [
        vec![dim(b, [m * k, k * n, m * n])],
        vec![dim(m as usize, [k, 0, n])],
        vec![dim(n as usize, [0, 1, 1])],
        vec![dim(k as usize, [1, n, 0])],
    ]
}

#[test]
fn row_major_products_are_column_major_ones_exchanged() {
    let plan = SmallBatchPlan::new(&row_major(10, [8, 16, 4]), 4).unwrap();
    assert!(plan.swapped && !plan.right_by_rows);
    assert_eq!((plan.extents, plan.leads, plan.shares), ([16, 8, 4], [16, 4, 16], 1));
    assert_eq!(plan.batch, [dim(10, [64, 32, 128])]);
    assert_eq!(plan.run(7), ([448, 224, 896], 3, [64, 32, 128]));
}

#[test]
fn shares_are_all_products_once() {
    let plan = SmallBatchPlan::new(&row_major(103, [32, 32, 32]), 4).unwrap();
    let all: Vec<usize> = (0..plan.shares).flat_map(|number| plan.share(number)).collect();
    assert!(plan.shares == 4 && all.iter().copied().eq(0..103));
}

#[test]
fn what_is_no_such_batch() {
    let none = |dims: &[Vec<Dim<3>>; 4]| SmallBatchPlan::new(dims, 1).is_none();
    assert!(none(&row_major(3, [16, 16, 16])), "few");
    assert!(none(&row_major(10, [65, 16, 16])), "large");
    assert!(none(&row_major(10, [2, 2, 2])), "tiny");
    assert!(none(&row_major(10, [1 << 30, 1 << 30, 1 << 30])), "larger than memory");
    let mut far = row_major(10, [16, 16, 16]);
    far[1][0].strides[2] = 1 << 24;
    assert!(none(&far), "columns too far apart");
    let mut strided = row_major(10, [16, 16, 16]);
    strided[2][0].strides[2] = 2;
    assert!(none(&strided), "no side by side in out");
    let mut backwards = row_major(10, [16, 16, 16]);
    backwards[1][0].strides[2] = -16;
    assert!(none(&backwards), "backwards");
    let mut two = row_major(10, [16, 16, 16]);
    two[3].push(dim(2, [5000, 5000, 0]));
    assert!(none(&two), "two dimensions of a kind");
}
