//! Unit tests of `bound`.

use super::words;

#[test]
fn batches_need_nothing() {
    assert_eq!(words(8.0, 64.0, 64.0, 64.0, 8.0, None), 0.0);
}

#[test]
fn a_cube_on_eight_ranks_is_the_3d_case() {
    let n: f64 = 1024.0;
    let expected = 3.0 * n * n / 4.0 - 3.0 * n * n / 8.0;
    assert!((words(1.0, n, n, n, 8.0, None) - expected).abs() < 1.0);
}

#[test]
fn a_tall_product_is_the_1d_case() {
    let received = words(1.0, 1e6, 10.0, 10.0, 4.0, None);
    assert!((received - (100.0 - 100.0 / 4.0)).abs() < 1e-6);
}
