//! Unit tests of `compensated`.

use super::*;

fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = Compensated::default();
    terms.into_iter().for_each(|term| sum.add(term));
    sum.total()
}

#[test]
fn errors_of_additions_are_not_lost() {
    assert_eq!(sum([1e16, 1.0, -1e16]), 1.0);
    // The error of a plain sum is 1.3e-6.
    assert_eq!(sum(std::iter::repeat_n(0.1, 1_000_000)), 100_000.0);
}

#[test]
fn what_is_no_number_stays() {
    assert_eq!(sum([1.0, f64::INFINITY, 2.0]), f64::INFINITY);
    assert_eq!(sum([f64::MAX, f64::MAX]), f64::INFINITY);
    assert!(sum([f64::INFINITY, f64::NEG_INFINITY]).is_nan());
}
