//! Unit tests of `norm`.

use super::*;

/// Computes the norm of numbers that are distributed over `processes`.
fn norm(numbers: &[f64], processes: usize) -> f64 {
    let parts = numbers.chunks(numbers.len().div_ceil(processes).max(1)).map(|part| {
        let mut norm = Norm::default();
        part.iter().for_each(|&number| norm.add(number));
        norm.numbers()
    });
    let parts: Vec<[f64; 4]> = parts.collect();
    Norm::of(parts.iter().map(<[f64; 4]>::as_slice))
}

#[test]
fn no_scale_is_too_large_or_small() {
    for scale in [1.0, 1e160, 1e-170, 1e-310, 1e307, 1e145, 1e-145] {
        for processes in 1..4 {
            let got = norm(&[3.0 * scale, -4.0 * scale, 0.0, 12.0 * scale], processes);
            assert!((got / scale - 13.0).abs() < 1e-13 * if scale < 1e-300 { 1e9 } else { 1.0 }, "{scale}: {got}");
        }
    }
    assert_eq!(norm(&[], 1), 0.0);
    assert_eq!(norm(&[0.0, -0.0], 2), 0.0);
    assert_eq!(norm(&[5e-324], 1), 5e-324);
    assert_eq!(norm(&[f64::MAX], 1), f64::MAX);
}

#[test]
fn norms_exceed_double_precision() {
    for (norm, exponent, want) in [
        (13.0, 0, "1.300000e1"),
        (0.75, 1000, "8.036315e300"),
        (0.75, 5000, "1.059350e1505"),
        (0.75, -5000, "5.309858e-1506"),
        (0.0, 5000, "0.000000e0"),
        (f64::INFINITY, 0, "inf"),
    ] {
        assert_eq!(text(norm, exponent), want);
    }
    assert_eq!(log10(0.0, 3), None);
    assert_eq!((scaled(0.5, 3), scaled(0.5, 1024), scaled(0.5, -1073)), (4.0, f64::powi(2.0, 1023), 5e-324));
    assert_eq!((scaled(0.5, 9000), scaled(0.5, -9000)), (f64::INFINITY, 0.0));
}

#[test]
fn scales_are_mixed() {
    assert!((norm(&[3e200, 1.0, 4e200, 1e-200], 2) / 5e200 - 1.0).abs() < 1e-15);
    assert!((norm(&[3.0, 1e-200, 4.0], 3) - 5.0).abs() < 1e-15);
    // Numbers above and below `MIN_UNSCALED` are scaled differently, but must contribute to the norm with the same
    // weight.
    let around: Vec<f64> = (0..1000).map(|i| MIN_UNSCALED * (0.5 + f64::from(i) / 1000.0)).collect();
    let plain = around.iter().map(|x| (x / MIN_UNSCALED).powi(2)).sum::<f64>().sqrt();
    assert!((norm(&around, 2) / MIN_UNSCALED - plain).abs() < 1e-12 * plain);
}

#[test]
fn what_is_no_number_stays() {
    assert!(norm(&[1.0, f64::NAN, f64::INFINITY], 2).is_nan());
    assert_eq!(norm(&[1.0, f64::NEG_INFINITY, 1e300], 3), f64::INFINITY);
}

#[test]
fn long_sums_are_exact_to_the_last_digits() {
    let numbers = vec![0.1; 10_000_000];
    let want = 0.1 * (numbers.len() as f64).sqrt();
    assert!((norm(&numbers, 3) / want - 1.0).abs() < 1e-14);
}
