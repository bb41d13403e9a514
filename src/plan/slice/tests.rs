//! Unit tests of `slice`.

use super::*;

#[test]
fn all_divisors() {
    assert_eq!(divisors(1), [1]);
    assert_eq!(divisors(36), [1, 2, 3, 4, 6, 9, 12, 18, 36]);
    assert_eq!(divisors(1021), [1, 1021]);
    assert_eq!(divisors(1 << 33).len(), 34);
    assert_eq!(divisors(6_000_000_000).len(), 11 * 2 * 10);
    assert_eq!(divisors(4_294_967_291 * 3), [1, 3, 4_294_967_291, 4_294_967_291 * 3]);
    assert!(divisors(usize::MAX).into_iter().all(|divisor| usize::MAX.is_multiple_of(divisor)));
    for number in 1..500usize {
        let every: Vec<usize> = (1..=number).filter(|divisor| number.is_multiple_of(*divisor)).collect();
        assert_eq!(divisors(number), every);
    }
}
