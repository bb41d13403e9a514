//! Tests batches of small products, which LIBXSMM (if available) computes in a single call. Covers every combination of
//! `alpha` and `beta`, dimension order and thread count.

use einsum_dist::Dtype;
use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, Reference, Workspace, error_bound, has_xsmm, host};
use einsum_dist::local_plan::{Body, KernelFamily, Target};
use ndarray::{ArrayD, ArrayViewD, Axis, Dimension, IxDyn, Slice};

use crate::common::Rng;
use crate::common::kernels::{contract_planned, plan};

fn labels(text: &str) -> Vec<Label> {
    text.bytes().map(|b| Label(u32::from(b))).collect()
}

fn extent(label: char) -> usize {
    match label {
        'a' => 3,
        'b' => 151,
        'm' => 13,
        'n' => 19,
        _ => 11,
    }
}

/// `left` has a negative stride along the batch, and `out` has gaps. Each target is paired with the number of threads
/// among which the plan must divide the small products. The number is `None` if the plan must not be one for small
/// products by generated code.
fn check<T: Element>([left, right, out]: [&str; 3], targets: &[(Target, Option<usize>)]) {
    let mut rng = Rng::new(5);
    let mut random = |text: &str| {
        let shape: Vec<usize> = text.chars().map(extent).collect();
        ArrayD::<T>::from_shape_simple_fn(IxDyn(&shape), || rng.element())
    };
    let (mut a, b, before) = (random(left), random(right), random(out));
    a.invert_axis(Axis(left.find('b').unwrap()));
    let names = [left, right, out].map(labels);
    let mark = T::from_f64(77.0, 0.0);
    let (last, width) = (Axis(out.len() - 1), before.shape()[out.len() - 1]);
    let mut shape = before.shape().to_vec();
    shape[out.len() - 1] += 5;
    let mut room = ArrayD::from_elem(IxDyn(&shape), mark);
    let operands: [(&[Label], ArrayViewD<T>); 2] = [(&names[0], a.view()), (&names[1], b.view())];
    let indices: Vec<_> = before.indexed_iter().map(|(index, _)| index).collect();
    let reference = Reference::new(&operands, &names[2]);
    let want: Vec<_> = indices.iter().map(|index| reference.element(index.slice())).collect();
    let tolerance = error_bound(T::DTYPE, 11, 2);
    let factors = [1.0, 0.5].into_iter().flat_map(|alpha| [0.0, 1.0, -0.5].map(|beta| (alpha, beta)));
    for (target, shares) in targets {
        let window = room.slice_axis(last, Slice::from(2..2 + width));
        let planned = plan((&names[0], &a.view()), (&names[1], &b.view()), (&names[2], &window), target);
        let found = match planned.body() {
            Body::Products(products) => Some(products.shares),
            _ => None,
        };
        assert_eq!(found, *shares, "{left},{right}->{out} {target:?}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(target.threads).build().unwrap();
        for (alpha, beta) in factors.clone() {
            let nan = T::from_f64(f64::NAN, 0.0);
            let mut got = room.slice_axis_mut(last, Slice::from(2..2 + width));
            got.assign(&before);
            if beta == 0.0 {
                got.fill(nan);
            }
            let (x, y) = (T::from_f64(alpha, 0.0), T::from_f64(beta, 0.0));
            let mut workspace = Workspace::new();
            pool.install(|| {
                contract_planned(&planned, x, a.view(), b.view(), y, got, &mut workspace).unwrap();
            });
            let got = room.slice_axis(last, Slice::from(2..2 + width));
            for (index, sum) in indices.iter().zip(&want) {
                let (value, old) = (got[index.clone()], before[index.clone()].to_c64() * beta);
                let error = (value.to_c64() - (sum.value * alpha + old)).norm();
                let bound = tolerance * (sum.magnitude * alpha + old.norm());
                assert!(error <= bound, "{left},{right}->{out} {alpha} {beta} {target:?} at {index:?}: {error}");
            }
            let around = [Slice::from(..2), Slice::from(2 + width..)];
            assert!(around.iter().all(|&gap| room.slice_axis(last, gap).iter().all(|value| *value == mark)));
        }
    }
}

fn everywhere<T: Element>() {
    let families: &[KernelFamily] =
        if has_xsmm() { &[KernelFamily::Own, KernelFamily::Xsmm, KernelFamily::Mixed] } else { &[KernelFamily::Own] };
    let real = !matches!(T::DTYPE, Dtype::Complex64 | Dtype::Complex128);
    for terms in [
        ["bmk", "bkn", "bmn"],
        ["bkm", "bkn", "bmn"],
        ["bmk", "bnk", "bnm"],
        ["bmk", "bkn", "bnm"],
        ["abmk", "bakn", "bamn"],
        ["mbk", "kbn", "bmn"],
    ] {
        // If `out` has the order `bnm`, its rows are rows of neither operand, so LIBXSMM cannot compute the products.
        let whole = terms[2] != "bnm";
        let targets = families.iter().flat_map(|&family| {
            let generated = family != KernelFamily::Own && real && whole;
            [1, 3].map(|threads| (Target { family, threads, ..host() }, generated.then_some(threads)))
        });
        check::<T>(terms, &targets.collect::<Vec<_>>());
    }
}

#[test]
fn batches_of_small_products() {
    everywhere::<f32>();
    everywhere::<f64>();
    everywhere::<num_complex::Complex<f32>>();
}
