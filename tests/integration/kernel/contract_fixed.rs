//! Tests selected contractions: large contractions on several threads, sums over empty dimensions, and mismatched
//! extents.

use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, Reference, Workspace, error_bound};
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use num_complex::Complex;

use crate::common::Rng;
use crate::common::kernels::contract;

fn labels(text: &str) -> Vec<Label> {
    text.bytes().map(|b| Label(u32::from(b))).collect()
}

/// Contracts tensors that are large enough for several threads, and for packing several batch indices together.
/// Compares a sample of elements, and requires the same bits from a second run.
fn large(left: &str, right: &str, out: &str, extents: &[(char, usize)]) {
    let mut rng = Rng::new(9);
    let shape =
        |text: &str| -> Vec<usize> { text.chars().map(|c| extents.iter().find(|(l, _)| *l == c).unwrap().1).collect() };
    let a = ArrayD::<f32>::from_shape_simple_fn(IxDyn(&shape(left)), || rng.element());
    let b = ArrayD::<f32>::from_shape_simple_fn(IxDyn(&shape(right)), || rng.element());
    let terms: usize = extents.iter().filter(|(l, _)| !out.contains(*l)).map(|(_, e)| e).product();
    let (a_labels, b_labels, out_labels) = (labels(left), labels(right), labels(out));
    let operands: [(&[Label], ArrayViewD<f32>); 2] = [(&a_labels, a.view()), (&b_labels, b.view())];
    let reference = Reference::new(&operands, &out_labels);
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let run = || {
            let mut got = ArrayD::from_elem(IxDyn(&shape(out)), f32::NAN);
            let mut workspace = Workspace::new();
            let [left, right] = [(&a_labels[..], a.view()), (&b_labels[..], b.view())];
            pool.install(|| {
                contract(1.0, left, right, 0.0, (&out_labels, got.view_mut()), &mut workspace).unwrap();
            });
            got
        };
        let got = run();
        assert!(got.iter().zip(&run()).all(|(x, y)| x.to_bits() == y.to_bits()), "{left},{right}->{out}");
        let tolerance = error_bound(einsum_dist::dtype::Dtype::Float32, terms as u64, 2);
        for _ in 0..got.len().min(40) {
            let index: Vec<usize> = shape(out).into_iter().map(|extent| rng.below(extent)).collect();
            let want = reference.element(&index);
            let error = (f64::from(got[IxDyn(&index)]) - want.value.re).abs();
            assert!(error <= tolerance * want.magnitude, "{left},{right}->{out} at {index:?} on {threads}");
        }
        assert!(got.iter().all(|value| value.is_finite()), "{left},{right}->{out} on {threads}");
    }
}

#[test]
fn real_factors_scale_parts_separately() {
    let infinite = Complex::new(f64::INFINITY, 2.0);
    assert_eq!(infinite.scaled(Complex::new(-1.0, 0.0)), Complex::new(f64::NEG_INFINITY, -2.0));
    assert!((infinite * Complex::new(-1.0, 0.0)).im.is_nan());
}

#[test]
fn large_contractions() {
    large("mk", "kn", "mn", &[('m', 130), ('n', 140), ('k', 150)]);
    large("kxm", "nxk", "mn", &[('m', 20), ('n', 24), ('k', 1500), ('x', 20)]);
    large("mk", "kn", "nm", &[('m', 130), ('n', 140), ('k', 150)]);
    large("mkc", "knc", "mnc", &[('m', 20), ('n', 12), ('k', 17), ('c', 101)]);
    large("cmk", "ckn", "cmn", &[('m', 20), ('n', 12), ('k', 17), ('c', 101)]);
    large("amkb", "nbka", "manb", &[('a', 16), ('b', 8), ('m', 30), ('n', 40), ('k', 9)]);
    large("abcde", "ecbxy", "yadx", &[('a', 8), ('b', 9), ('c', 10), ('d', 11), ('e', 7), ('x', 6), ('y', 13)]);
    large("cij", "cij", "cij", &[('c', 50), ('i', 40), ('j', 60)]);
    large("cij", "cji", "ijc", &[('c', 50), ('i', 40), ('j', 60)]);
    large("mk", "k", "m", &[('m', 900), ('k', 800)]);
    large("m", "n", "mn", &[('m', 900), ('n', 800)]);
    large("k", "k", "", &[('k', 100_000)]);
}

#[test]
fn a_sum_over_nothing_is_beta_out() {
    let (m, k, n) = (Label(0), Label(1), Label(2));
    let (left, right) = (ArrayD::<f64>::zeros(IxDyn(&[2, 0])), ArrayD::<f64>::zeros(IxDyn(&[0, 3])));
    let mut out = ArrayD::from_elem(IxDyn(&[2, 3]), 4.0);
    let mut workspace = Workspace::new();
    contract(1.0, (&[m, k], left.view()), (&[k, n], right.view()), 0.5, (&[m, n], out.view_mut()), &mut workspace)
        .unwrap();
    assert!(out.iter().all(|&value| value == 2.0));
    out.fill(f64::NAN);
    contract(1.0, (&[m, k], left.view()), (&[k, n], right.view()), 0.0, (&[m, n], out.view_mut()), &mut workspace)
        .unwrap();
    assert!(out.iter().all(|&value| value == 0.0));
}

#[test]
#[should_panic(expected = "has extents 3 and 4")]
fn extents_must_agree() {
    let (m, k, n) = (Label(0), Label(1), Label(2));
    let (left, right) = (ArrayD::<f64>::zeros(IxDyn(&[2, 3])), ArrayD::<f64>::zeros(IxDyn(&[4, 2])));
    let mut out = ArrayD::zeros(IxDyn(&[2, 2]));
    let _ = contract(
        1.0,
        (&[m, k], left.view()),
        (&[k, n], right.view()),
        0.0,
        (&[m, n], out.view_mut()),
        &mut Workspace::new(),
    );
}
