//! Batches of small products, which LIBXSMM computes whole where it is there: all factors, orders and threads.

use einsum_dist::Dtype;
use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, Workspace, contract_planned, error_bound, has_xsmm, host, plan, reference_element};
use einsum_dist::local::{Body, Family, Target};
use ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};

#[path = "common/rng.rs"]
mod rng;

use rng::Rng;

fn labels(text: &str) -> Vec<Label> {
    text.bytes().map(|b| Label(u32::from(b))).collect()
}

fn extent(label: char) -> usize {
    match label {
        'a' => 3,
        'b' => 7,
        'm' => 13,
        'n' => 19,
        _ => 11,
    }
}

/// Returns whether generated code computes whole products.
fn check<T: Element>([left, right, out]: [&str; 3], target: &Target) -> bool {
    let mut rng = Rng::new(5);
    let mut random = |text: &str| {
        let shape: Vec<usize> = text.chars().map(extent).collect();
        ArrayD::<T>::from_shape_simple_fn(IxDyn(&shape), || rng.element())
    };
    let (a, b, before) = (random(left), random(right), random(out));
    let names = [left, right, out].map(labels);
    let planned = plan((&names[0], &a.view()), (&names[1], &b.view()), (&names[2], &before.view()), target);
    let operands: [(&[Label], ArrayViewD<T>); 2] = [(&names[0], a.view()), (&names[1], b.view())];
    let indices: Vec<_> = before.indexed_iter().map(|(index, _)| index).collect();
    let want: Vec<_> = indices.iter().map(|index| reference_element(&operands, &names[2], index.slice())).collect();
    let tolerance = error_bound(T::DTYPE, 11, 2);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(target.threads).build().unwrap();
    for alpha in [1.0, 0.5] {
        for beta in [0.0, 1.0, -0.5] {
            let nan = T::from_f64(f64::NAN, 0.0);
            let mut got = if beta == 0.0 { before.mapv(|_| nan) } else { before.clone() };
            let (x, y) = (T::from_f64(alpha, 0.0), T::from_f64(beta, 0.0));
            let mut workspace = Workspace::new();
            pool.install(|| {
                contract_planned(&planned, x, a.view(), b.view(), y, got.view_mut(), &mut workspace).unwrap();
            });
            for (index, sum) in indices.iter().zip(&want) {
                let (value, old) = (got[index.clone()], before[index.clone()].to_c64() * beta);
                let error = (value.to_c64() - (sum.value * alpha + old)).norm();
                let bound = tolerance * (sum.magnitude + old.norm() + 1.0);
                assert!(error <= bound, "{left},{right}->{out} {alpha} {beta} {target:?} at {index:?}: {error}");
            }
        }
    }
    matches!(planned.body(), Body::Products(_))
}

fn everywhere<T: Element>() {
    let families: &[Family] = if has_xsmm() { &[Family::Own, Family::Xsmm, Family::Best] } else { &[Family::Own] };
    for &family in families {
        for threads in [1, 3] {
            let target = Target { family, threads, ..host() };
            let real = !matches!(T::DTYPE, Dtype::Complex64 | Dtype::Complex128);
            let generated = family != Family::Own && real;
            for terms in [
                ["bmk", "bkn", "bmn"],
                ["bkm", "bkn", "bmn"],
                ["bmk", "bnk", "bnm"],
                ["bmk", "bkn", "bnm"],
                ["abmk", "bakn", "bamn"],
                ["mbk", "kbn", "bmn"],
            ] {
                // Rows of out are rows of neither operand there.
                let whole = terms[2] != "bnm";
                assert_eq!(check::<T>(terms, &target), generated && whole, "{terms:?} {family:?}");
            }
        }
    }
}

#[test]
fn batches_of_small_products() {
    everywhere::<f32>();
    everywhere::<f64>();
    everywhere::<num_complex::Complex<f32>>();
}
