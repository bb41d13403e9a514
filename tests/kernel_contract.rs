//! Random contractions against the reference: every kind of dimension, order, stride, factor and element type.

mod kernel;

use einsum_dist::dims::Label;
use einsum_dist::kernel::{
    Checked, Element, Workspace, available, contract, contract_planned, error_bound, host, plan, reference,
    reference_element,
};
use einsum_dist::local::{Access, Body, Isa, OutAccess, Target};
use kernel::{Rng, Tensor};
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use num_complex::Complex;

/// Labels and extents of a random contraction.
struct Case {
    extents: Vec<usize>,
    left: Vec<Label>,
    right: Vec<Label>,
    out: Vec<Label>,
    terms: usize,
}

impl Case {
    /// Up to `most` dimensions per kind; extents of less than `end`, as long as the index space stays below `space`.
    fn random(rng: &mut Rng, most: usize, end: usize, space: usize) -> Self {
        let mut case = Case { extents: Vec::new(), left: Vec::new(), right: Vec::new(), out: Vec::new(), terms: 1 };
        let mut total = 1;
        for kind in 0..4 {
            for _ in 0..rng.below(most + 1) {
                let label = Label(case.extents.len() as u32);
                let extent = if rng.one_in(60) { 0 } else { 1 + rng.below(end.min(space / total.max(1)).max(1)) };
                total *= extent.max(1);
                case.extents.push(extent);
                if kind != 2 {
                    case.left.push(label);
                }
                if kind != 1 {
                    case.right.push(label);
                }
                if kind == 3 {
                    case.terms *= extent;
                } else {
                    case.out.push(label);
                }
            }
        }
        rng.shuffle(&mut case.left);
        rng.shuffle(&mut case.right);
        rng.shuffle(&mut case.out);
        case
    }

    fn shape(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|l| self.extents[l.0 as usize]).collect()
    }
}

fn factor<T: Element>(rng: &mut Rng) -> T {
    match rng.below(4) {
        0 => T::ZERO,
        1 => T::ONE,
        2 => T::from_f64(-1.0, 0.0),
        _ => rng.element(),
    }
}

/// Runs one case and says how it was planned.
fn check<T: Element>(rng: &mut Rng, case: &Case, plain: bool, workspace: &mut Workspace) -> &'static str {
    let left = Tensor::<T>::random(rng, &case.shape(&case.left), plain, true);
    let right = Tensor::<T>::random(rng, &case.shape(&case.right), plain, true);
    let mut out = Tensor::<T>::random(rng, &case.shape(&case.out), plain, false);
    let (alpha, beta) = (factor::<T>(rng), factor::<T>(rng));
    let nan = T::from_f64(f64::NAN, f64::NAN);
    let before: ArrayD<T> = out.view().to_owned();
    let mark = T::from_f64(77.0, 0.0);
    out.fill_memory(mark);
    if beta == T::ZERO {
        out.view_mut().fill(nan);
    } else {
        out.view_mut().assign(&before);
    }
    let mut want = ArrayD::from_elem(IxDyn(out.view().shape()), Checked::default());
    let operands = [(&case.left[..], left.view()), (&case.right[..], right.view())];
    reference(&operands, (&case.out, want.view_mut()));
    let isas: Vec<Isa> = Isa::ALL.into_iter().filter(|&isa| available(isa)).collect();
    let target = Target { isa: isas[rng.below(isas.len())], ..host() };
    let planned = plan((&case.left, &left.view()), (&case.right, &right.view()), (&case.out, &out.view()), &target);
    contract_planned(&planned, alpha, left.view(), right.view(), beta, out.view_mut(), workspace).unwrap();
    let tolerance = error_bound(T::DTYPE, case.terms as u64 + 1, 3);
    for ((index, want), got) in want.indexed_iter().zip(out.view().iter()) {
        let (value, magnitude) = expected(alpha, *want, beta, before[&index]);
        let error = (got.to_c64() - value).norm();
        assert!(
            error <= tolerance * magnitude,
            "{:?} {:?} {:?} -> {:?} of {:?} at {index:?}: {got:?} instead of {value}, planned as {planned:?}",
            T::DTYPE,
            case.left,
            case.right,
            case.out,
            case.extents
        );
    }
    assert!(out.gaps_are(mark), "wrote outside out: {planned:?}");
    assert!(workspace.bytes() >= planned.workspace_elements() * size_of::<T>());
    match planned.body() {
        Body::Nothing => "nothing",
        Body::Scale => "scale",
        Body::Loops(_) => "loops",
        Body::Gemm(plan) => match (plan.access, plan.out) {
            (_, OutAccess::Buffered) => "out buffered",
            ([Access::InPlace, Access::InPlace], _) => "in place",
            _ => "operands packed",
        },
    }
}

fn expected<T: Element>(alpha: T, sum: Checked, beta: T, before: T) -> (Complex<f64>, f64) {
    let (alpha, beta, before) = (alpha.to_c64(), beta.to_c64(), before.to_c64());
    let value = alpha * sum.value + beta * before;
    (value, alpha.norm() * sum.magnitude + (beta * before).norm())
}

fn random_cases<T: Element>(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut workspace = Workspace::new();
    let mut seen = std::collections::BTreeMap::new();
    let pools: Vec<_> = (1..=3).map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap()).collect();
    for round in 0..700 {
        let (most, end, space) = match round % 4 {
            0 => (3, 5, 2000),
            1 => (3, 4, 4000),
            2 => (1, 20, 4000),
            _ => (2, 9, 6000),
        };
        let case = Case::random(&mut rng, most, end, space);
        let plain = round % 3 == 0;
        let how = pools[round % 3].install(|| check::<T>(&mut rng, &case, plain, &mut workspace));
        *seen.entry(how).or_insert(0) += 1;
    }
    for how in ["nothing", "scale", "loops", "in place", "operands packed", "out buffered"] {
        assert!(seen.contains_key(how), "no case was planned as {how}: {seen:?}");
    }
}

#[test]
fn random_f32() {
    random_cases::<f32>(1);
}

#[test]
fn random_f64() {
    random_cases::<f64>(2);
}

#[test]
fn random_complex_f32() {
    random_cases::<Complex<f32>>(3);
}

#[test]
fn random_complex_f64() {
    random_cases::<Complex<f64>>(4);
}

fn labels(text: &str) -> Vec<Label> {
    text.bytes().map(|b| Label(u32::from(b))).collect()
}

/// Large enough for threads and slabs: a sample of elements, and the same bits twice.
fn large(left: &str, right: &str, out: &str, extents: &[(char, usize)]) {
    let mut rng = Rng::new(9);
    let shape =
        |text: &str| -> Vec<usize> { text.chars().map(|c| extents.iter().find(|(l, _)| *l == c).unwrap().1).collect() };
    let a = ArrayD::<f32>::from_shape_simple_fn(IxDyn(&shape(left)), || rng.element());
    let b = ArrayD::<f32>::from_shape_simple_fn(IxDyn(&shape(right)), || rng.element());
    let terms: usize = extents.iter().filter(|(l, _)| !out.contains(*l)).map(|(_, e)| e).product();
    let (a_labels, b_labels, out_labels) = (labels(left), labels(right), labels(out));
    let operands: [(&[Label], ArrayViewD<f32>); 2] = [(&a_labels, a.view()), (&b_labels, b.view())];
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
            let want = reference_element(&operands, &out_labels, &index);
            let error = (f64::from(got[IxDyn(&index)]) - want.value.re).abs();
            assert!(error <= tolerance * want.magnitude, "{left},{right}->{out} at {index:?} on {threads}");
        }
        assert!(got.iter().all(|value| value.is_finite()), "{left},{right}->{out} on {threads}");
    }
}

#[test]
fn large_contractions() {
    large("mk", "kn", "mn", &[('m', 130), ('n', 140), ('k', 150)]);
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
