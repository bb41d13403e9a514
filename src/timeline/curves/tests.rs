//! Unit tests of `curves`.

use super::*;

fn drawn(one: Vec<[f64; 2]>, other: Vec<[f64; 2]>) -> String {
    let unit = |value: f64| format!("{value} s");
    svg("a < b", &[Panel { curves: [("simulated", one), ("ideal", other)], unit: &unit }])
}

#[test]
fn a_small_one_as_text() {
    let svg = drawn(vec![[1.0, 10.0], [10.0, 5.0], [100.0, 1.0]], vec![[1.0, 10.0], [100.0, 0.1]]);
    // The ranks 1 and 100 are at 84 and 684 pixels. The seconds 10 and 0.1 are at 60 and 256 pixels.
    assert!(svg.contains("M84.0 60.0L384.0 89.5L684.0 158.0") && svg.contains("M84.0 60.0L684.0 256.0"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 3);
    for text in ["a &lt; b", "0.1 s", "1 s", "10 s", "\n1\n", "\n10\n", "\n100\n", "simulated", "ideal", "ranks"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
}

#[test]
fn what_has_no_logarithm_is_left_out() {
    let svg = drawn(vec![[1.0, 0.0], [2.0, 3.0]], Vec::new());
    assert_eq!((svg.matches("<circle").count(), svg.contains("NaN"), svg.contains("inf")), (1, false, false), "{svg}");
    for svg in [drawn(Vec::new(), Vec::new()), drawn(vec![[7.0, 1.0]], vec![[7.0, 0.0]])] {
        assert!(svg.starts_with("<svg") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn labels_do_not_overlap() {
    let many: Vec<[f64; 2]> = (1..=4096).map(|ranks| [f64::from(ranks), 1.0 / f64::from(ranks)]).collect();
    let svg = drawn(many, Vec::new());
    assert!((5..=16).contains(&svg.matches("text-anchor=\"middle\"").count()));
}
