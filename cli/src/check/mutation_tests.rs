//! Tests that the check refuses wrong results of many kinds and accepts correct ones.
//!
//! Elements are random numbers with the probability distribution of a sum of `terms` products. The factors of these
//! products are between -1 and 1, or between 0 and 1. So the tests cover long sums without computing them.

use clap::Parser;
use einsum_dist::World;
use num_complex::Complex;

use super::super::args::Args;
use super::super::config::RunConfig;
use super::limits::{Limits, OperandLimits};
use super::sum::Reference;
use super::verdict::{Tally, judge};

const TERMS: [usize; 8] = [1, 7, 100, 5_000, 200_000, 1_000_000, 10_000_000, 100_000_000];
const DTYPES: [&str; 4] = ["float32", "float64", "complex64", "complex128"];

fn config(arguments: &[&str]) -> RunConfig {
    let world = World::single();
    let arguments = ["einsum-dist", "-t1"].iter().chain(arguments);
    RunConfig::new(&world, Args::parse_from(arguments)).expect("the command can run")
}

fn limits(dtype: &str, terms: usize) -> Limits {
    let sizes = format!("m=8,n=8,k={terms}");
    let config = config(&["mk,kn->mn", "-s", &sizes, "--dtype", dtype]);
    Limits::new(&config.plan, &config.tree)
}

/// Returns a reference without an estimate of the rounding errors.
fn reference(value: Complex<f64>, magnitude: f64) -> Reference {
    Reference { value, magnitude, spread: f64::INFINITY }
}

/// An element that is the sum of partial sums from several ranks.
struct SummedElement {
    parts: Vec<Complex<f64>>,
    magnitude: f64,
}

impl SummedElement {
    fn value(&self) -> Complex<f64> {
        self.parts.iter().sum()
    }

    fn want(&self) -> Reference {
        reference(self.value(), self.magnitude)
    }
}

/// Returns the elements of an 8 x 8 result.
fn elements(dtype: &str, terms: usize, ranks: usize, signed: bool) -> Vec<SummedElement> {
    let unit = |at: usize| einsum_dist::io::random::value(11, at as u32, terms as u64 + at as u64).0;
    // The sum of twelve uniform numbers is roughly normal with variance 4, so half of it has variance 1.
    let normal = |at: usize| (0..12).map(|i| unit(at * 12 + i)).sum::<f64>() / 2.0;
    let complex = dtype.starts_with('c');
    let each = terms as f64 / ranks as f64;
    let part = |at: usize| match signed {
        true => normal(at) * each.sqrt() / 3.0,
        false => each / 4.0 * (1.0 + 0.1 * normal(at) / each.sqrt()),
    };
    let parts = |element: usize| {
        let at = |rank: usize| 2 * (element * ranks + rank);
        (0..ranks)
            .map(move |rank| Complex::new(part(at(rank)), if complex { part(at(rank) + 1) } else { 0.0 }))
            .collect()
    };
    let magnitude = terms as f64 / if complex { 1.5 } else { 4.0 };
    let element = |number| {
        let parts: Vec<Complex<f64>> = parts(number);
        let least = parts.iter().map(|part| part.norm()).sum::<f64>();
        SummedElement { parts, magnitude: magnitude.max(least) }
    };
    (0..64).map(element).collect()
}

fn compared(limits: &Limits, elements: &[SummedElement], got: impl Fn(usize) -> Complex<f64>) -> Tally {
    let judged =
        elements.iter().enumerate().map(|(at, element)| judge(limits, got(at), element.want(), &[at / 8, at % 8]));
    judged.fold(Tally::default(), Tally::merge)
}

#[test]
fn results_of_any_length_are_told_apart() {
    for dtype in DTYPES {
        for terms in TERMS {
            let limits = limits(dtype, terms);
            for (ranks, signed) in [(1, true), (1, false), (2, true), (4, true), (4, false), (16, true)] {
                if terms < ranks {
                    continue;
                }
                let elements = elements(dtype, terms, ranks, signed);
                let case = format!("{dtype}, {terms} terms, {ranks} ranks, {signed}");
                let wrong = |what: &str, got: &dyn Fn(usize) -> Complex<f64>| {
                    let tally = compared(&limits, &elements, got);
                    assert!(!tally.is_right() && tally.error > tally.bound, "{what}: {case}: {tally:?}");
                };
                let value = |at: usize| elements[at].value();
                wrong("zeros", &|_| Complex::new(0.0, 0.0));
                // In the longest sums, the contribution of one of 16 ranks is smaller than the allowed rounding error.
                if terms * ranks < 1_000_000_000 {
                    wrong("one rank's part missing", &|at| value(at) - elements[at].parts[ranks - 1]);
                    wrong("one rank's part twice", &|at| value(at) + elements[at].parts[0]);
                }
                wrong("the other sign", &|at| -value(at));
                // Long sums of positive numbers are nearly equal, so exchanging them cannot be detected.
                if signed {
                    wrong("halves exchanged", &|at| value((at + 32) % 64));
                    wrong("two rows exchanged", &|at| value(if at < 16 { (at + 8) % 16 } else { at }));
                    wrong("transposed", &|at| value(at % 8 * 8 + at / 8));
                    wrong("one element zero, as large as others", &|at| {
                        value(at) * f64::from(u8::from(at != largest(&elements)))
                    });
                }
                if !signed || terms <= 5_000 || dtype.ends_with('4') && dtype.starts_with('f') {
                    let off = |at: usize| if at == largest(&elements) { 1.01 } else { 1.0 };
                    wrong("an element wrong by one hundredth", &|at| value(at) * off(at));
                }
                // An error just below the worst case of rounding must be accepted.
                let nearly = |at: usize| value(at) + 0.8 * limits.relative * elements[at].magnitude;
                let right = compared(&limits, &elements, nearly);
                assert!(right.is_right() && right.error <= right.bound && right.checked == 64, "{case}: {right:?}");
            }
        }
    }
}

fn largest(elements: &[SummedElement]) -> usize {
    let size = |at: &usize| elements[*at].value().norm();
    (0..elements.len()).max_by(|a, b| size(a).total_cmp(&size(b))).expect("there are elements")
}

#[test]
fn what_is_no_number_has_to_be_none() {
    let limits = limits("complex64", 100);
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let judged = |got: [f64; 2], want: [f64; 2], magnitude: f64| {
        let [got, value] = [got, want].map(|[re, im]| Complex::new(re, im));
        judge(&limits, got, reference(value, magnitude), &[0])
    };
    for want in [[nan, 1.0], [1.0, nan], [infinity, 1.0], [1.0, -infinity], [nan, -infinity]] {
        assert!(judged(want, want, nan).is_right(), "{want:?}");
        for got in [[1.0, 1.0], [nan, nan], [infinity, infinity], [-infinity, 1.0], [0.0, 0.0]] {
            assert!(!judged(got, want, nan).is_right(), "{got:?} instead of {want:?}");
        }
    }
    for got in [[nan, 1.0], [1.0, infinity], [nan, nan]] {
        assert!(!judged(got, [1.0, 1.0], 10.0).is_right());
    }
}

/// The product of three complex numbers with infinite parts depends on the order of the factors.
#[test]
fn undefined_parts_are_unclear_until_the_tree_is_followed() {
    let judged = |unordered: bool, got: [f64; 2], want: [f64; 2]| {
        let [got, value] = [got, want].map(|[re, im]| Complex::new(re, im));
        judge(&Limits { unordered, ..limits("complex64", 100) }, got, reference(value, f64::NAN), &[0])
    };
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    for (got, want) in [([nan, nan], [infinity, nan]), ([infinity, 1.0], [nan, nan])] {
        let open = judged(true, got, want);
        assert!(open.is_right() && open.unclear == 1 && open.is_open(), "{got:?} instead of {want:?}");
        assert!(!judged(false, got, want).is_right(), "{got:?} instead of {want:?}");
    }
    assert!(!judged(true, [1.0, 1.0], [nan, nan]).is_right(), "a number instead of NaN");
}

#[test]
fn overflow_is_no_mistake() {
    let limits = limits("float32", 100);
    let judged = |got: f64, want: f64, magnitude: f64| {
        judge(&limits, Complex::new(got, 0.0), reference(Complex::new(want, 0.0), magnitude), &[3, 4])
    };
    let right = judged(f64::INFINITY, 1e40, 1e41);
    assert!(right.is_right() && right.overflowed == 1 && right.largest == 1e40 && right.place == [3, 4]);
    assert!(!judged(f64::NEG_INFINITY, 1e40, 1e41).is_right(), "the other sign");
    assert!(!judged(1e38, 1e40, 1e41).is_right(), "a number");
    assert!(!judged(f64::INFINITY, 1e30, 1e31).is_right(), "no overflow");
    // In the first case, the sums of the element itself overflow. In the second case, the sums of an earlier step may
    // overflow.
    assert_eq!(judged(f64::NAN, 1e30, 1e39).overflowed_sums, 1);
    let config = config(&["[mk,kl->ml],ln->mn", "-s4"]);
    let mut unsettled = judged(f64::NAN, 1e30, 1e31);
    assert!(unsettled.is_open());
    let mut wrong = unsettled.clone();
    unsettled.settle(&limits, &OperandLimits::new(&config.tree, &limits, &[1e30, 1e30, 1e-30]));
    wrong.settle(&limits, &OperandLimits::new(&config.tree, &limits, &[1e10, 1e10, 1e10]));
    assert_eq!(
        (unsettled.overflowed_sums, unsettled.unexplained, wrong.overflowed_sums, wrong.unexplained),
        (1, 0, 0, 1)
    );
}

#[test]
fn underflow_counts_along_the_tree() {
    let config = config(&["[mk,kl->ml],ln->mn", "-s4"]);
    let limits = Limits::new(&config.plan, &config.tree);
    let judged = |got: f64, want: f64, magnitude: f64| {
        judge(&limits, Complex::new(got, 0.0), reference(Complex::new(want, 0.0), magnitude), &[0, 0])
    };
    assert!(judged(3e-45, 2e-45, 2e-45).is_right(), "one subnormal number more");
    assert!(!judged(1e-40, 2e-40, 2e-40).is_right());
    // The first step underflows and computes 0 in place of 1e-50, which the second step would multiply by 1e30.
    let operand_limits = OperandLimits::new(&config.tree, &limits, &[1e-25, 1e-25, 1e30]);
    let mut unsettled = judged(0.0, 1.6e-19, 1.6e-19);
    assert!(!unsettled.is_right() && unsettled.is_open());
    unsettled.settle(&limits, &operand_limits);
    assert!(unsettled.is_right() && unsettled.error <= unsettled.bound, "{unsettled:?}");
    let mut wrong = judged(1e-10, 1.6e-19, 1.6e-19);
    wrong.settle(&limits, &operand_limits);
    assert!(!wrong.is_right() && wrong.error > wrong.bound, "{wrong:?}");
}

#[test]
fn bounds_do_not_grow_with_the_sum() {
    for (sizes, expression, most) in [
        ("m=8,n=8,k=200000", "mk,kn->mn", 5e-5),
        ("m=8,n=8,k=100000000", "mk,kn->mn", 5e-5),
        ("1000000000", "k,k->", 2e-5),
        ("1000000000", "k->", 2e-5),
        ("m=8,k=100000000", "mk,k->m", 3e-5),
    ] {
        let config = config(&[expression, "-s", sizes]);
        let bound = Limits::new(&config.plan, &config.tree).relative;
        assert!(bound < most, "{expression} {sizes}: {bound:e}");
    }
}
