//! Unit tests of `xsmm`.

use super::*;

/// A real type for the tests. All test data are small integers, so sums of products are exact in any order of
/// additions.
trait Exact: Real + PartialEq + std::fmt::Debug + From<i8> {
    const NAN: Self;
    fn mul_add(self, b: Self, c: Self) -> Self;
}

macro_rules! exact {
    ($($real:ty)*) => {$(
        impl Exact for $real {
            const NAN: Self = <$real>::NAN;
            fn mul_add(self, b: Self, c: Self) -> Self {
                self * b + c
            }
        }
    )*};
}

exact!(f32 f64);

fn filled<R: Exact>(length: usize, seed: usize) -> Vec<R> {
    (0..length).map(|i| R::from(((i * 37 + seed * 11) % 17) as i8 - 8)).collect()
}

/// Compares a product with the result of plain loops. Elements of `out` between columns and after the last column
/// must keep their values.
fn check<R: Exact>(extents: [usize; 3], gap: usize, transpose_b: bool) {
    let [m, n, k] = extents;
    let (rows_b, columns_b) = if transpose_b { (n, k) } else { (k, n) };
    let strides @ [lda, ldb, ldc] = [m + gap, rows_b + 2 * gap, m + 3 * gap];
    let tile = Tile::<R>::get(extents, strides, transpose_b).expect("code for a small shape");
    // `left` and `right` have exactly the length of their matrices, so that memory checkers detect accesses beyond
    // the last element.
    let left: Vec<R> = filled(lda * (k - 1) + m, m);
    let right: Vec<R> = filled(ldb * (columns_b - 1) + rows_b, n);
    let mut out: Vec<R> = filled(ldc * n + 16, k);
    let mut expected = out.clone();
    for (j, i) in (0..n).flat_map(|j| (0..m).map(move |i| (j, i))) {
        let at = j * ldc + i;
        expected[at] = (0..k).fold(R::from(0), |sum, l| {
            let b = if transpose_b { right[l * ldb + j] } else { right[j * ldb + l] };
            left[l * lda + i].mul_add(b, sum)
        });
        out[at] = R::NAN;
    }
    // SAFETY: the vectors contain the matrices of these extents and leading dimensions.
    unsafe { tile.call(left.as_ptr(), right.as_ptr(), out.as_mut_ptr()) };
    assert!(out == expected, "{extents:?}, gap {gap}, transpose {transpose_b}");
}

fn check_all<R: Exact>(sizes: &[usize]) {
    for (i, &m) in sizes.iter().enumerate() {
        for (j, &n) in sizes.iter().enumerate() {
            for (l, &k) in sizes.iter().enumerate() {
                for form in 0..2 {
                    check::<R>([m, n, k], (i + j + l + form) % 3, form == 1);
                }
            }
        }
    }
}

#[test]
fn products_of_f32() {
    check_all::<f32>(&[1, 2, 5, 8, 13, 16, 17, 31, 32, 64]);
}

#[test]
fn products_of_f64() {
    check_all::<f64>(&[1, 3, 4, 7, 8, 16, 19, 32, 37, 64]);
}

#[test]
fn long_and_narrow_products() {
    for extents in [[1, 1, 1000], [16, 6, 512], [48, 8, 384], [256, 3, 16], [3, 256, 16], [128, 128, 128]] {
        for form in 0..2 {
            check::<f32>(extents, 1, form == 1);
            check::<f64>(extents, 0, form == 1);
        }
    }
}

#[test]
fn threads_may_ask_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..6 {
            scope.spawn(move || {
                for side in 9..60 {
                    // The shapes for `f32` are common to all threads, and those for `f64` differ between threads.
                    check::<f32>([side, 9, 23], 4, false);
                    check::<f64>([side, 70 + thread, 11], 5, true);
                }
            });
        }
    });
}

#[test]
fn what_is_no_product_has_no_tile() {
    let none = |extents, strides, transpose_b| Tile::<f32>::get(extents, strides, transpose_b).is_none();
    assert!(none([0, 1, 1], [1, 1, 1], false));
    assert!(none([1, 0, 1], [1, 1, 1], false));
    assert!(none([1, 1, 0], [1, 1, 1], false));
    assert!(none([4, 4, 4], [3, 4, 4], false));
    assert!(none([4, 4, 4], [4, 4, 3], false));
    assert!(none([4, 5, 4], [4, 4, 4], true));
    assert!(none([4, 4, 5], [4, 4, 4], false));
    assert!(none([4, 4, 4], [4, 4, usize::MAX], false));
}
