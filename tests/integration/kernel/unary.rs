//! Compares random permutations, diagonals and sums, and the elementwise kernels, with the reference.

use super::tensor::{Order, Tensor};
use crate::common::Rng;
use crate::common::kernels::{copy, reference, unary};
use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, ReferenceValue, add, conjugate, error_bound, fill, scale};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

fn random_unary<T: Element>(seed: u64) {
    let mut rng = Rng::new(seed);
    for round in 0..400 {
        let extents: Vec<usize> =
            (0..rng.below(5)).map(|_| if rng.one_in(40) { 0 } else { 1 + rng.below(6) }).collect();
        let mut labels: Vec<Label> = (0..extents.len() as u32).map(Label).collect();
        if !labels.is_empty() {
            (0..rng.below(3)).for_each(|_| labels.push(labels[rng.below(extents.len())]));
        }
        rng.shuffle(&mut labels);
        let mut kept: Vec<Label> = (0..extents.len() as u32).map(Label).filter(|_| !rng.one_in(3)).collect();
        rng.shuffle(&mut kept);
        let shape = |labels: &[Label]| labels.iter().map(|l| extents[l.0 as usize]).collect::<Vec<_>>();
        let input = Tensor::<T>::random(&mut rng, &shape(&labels), Order::dense_if(round % 3 == 0), true);
        let mut out = Tensor::<T>::random(&mut rng, &shape(&kept), Order::dense_if(round % 3 == 0), false);
        let mark = T::from_f64(77.0, 0.0);
        out.fill_memory(mark);
        out.view_mut().fill(T::from_f64(f64::NAN, f64::NAN));
        unary((&labels, input.view()), (&kept, out.view_mut()));
        let mut want = ArrayD::from_elem(IxDyn(&shape(&kept)), ReferenceValue::default());
        reference(&[(&labels, input.view())], (&kept, want.view_mut()));
        for (got, want) in out.view().iter().zip(&want) {
            let error = (got.to_c64() - want.value).norm();
            assert!(error <= error_bound(T::DTYPE, want.terms, 1) * want.magnitude, "{labels:?} -> {kept:?}");
        }
        assert!(out.gaps_are(mark));
    }
}

#[test]
fn random_cases() {
    random_unary::<f32>(11);
    random_unary::<f64>(12);
    random_unary::<Complex<f32>>(13);
    random_unary::<Complex<f64>>(14);
}

/// Elements are integers, so that sums are equal in any order.
#[test]
fn large_cases_on_threads() {
    let (i, j, k) = (Label(0), Label(1), Label(2));
    let input = ArrayD::from_shape_fn(IxDyn(&[70, 90, 80]), |at| ((at[0] * 7 + at[1] * 5 + at[2] * 3) % 11) as f64);
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut transposed = ArrayD::from_elem(IxDyn(&[80, 70, 90]), f64::NAN);
            unary((&[i, j, k], input.view()), (&[k, i, j], transposed.view_mut()));
            assert_eq!(transposed, input.view().permuted_axes(IxDyn(&[2, 0, 1])));
            let mut rows = ArrayD::from_elem(IxDyn(&[80, 70]), f64::NAN);
            unary((&[i, j, k], input.view()), (&[k, i], rows.view_mut()));
            assert_eq!(rows, input.sum_axis(ndarray::Axis(1)).reversed_axes());
            let mut total = ArrayD::from_elem(IxDyn(&[]), f64::NAN);
            unary((&[i, j, k], input.view()), (&[], total.view_mut()));
            assert_eq!(total[IxDyn(&[])], input.sum());
        });
    }
}

#[test]
fn elementwise() {
    let mut rng = Rng::new(5);
    for round in 0..200 {
        let end = if round % 20 == 0 { 60 } else { 6 };
        let extents: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(end)).collect();
        let input = Tensor::<f64>::random(&mut rng, &extents, Order::Any, true);
        let mut out = Tensor::<f64>::random(&mut rng, &extents, Order::Any, false);
        out.fill_memory(f64::NAN);
        copy(input.view(), out.view_mut());
        assert_eq!(out.view(), input.view());
        add(input.view(), out.view_mut());
        assert_eq!(out.view(), input.view().mapv(|x| x + x));
        scale(-0.5, out.view_mut());
        assert_eq!(out.view(), input.view().mapv(|x| -x));
        fill(f64::NAN, out.view_mut());
        scale(0.0, out.view_mut());
        assert!(out.view().iter().all(|&x| x == 0.0));
    }
}

/// From 32,768 elements on, several threads conjugate parts of the tensor.
#[test]
fn conjugates_in_parallel() {
    let mut rng = Rng::new(6);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for extents in [
        vec![],
        vec![1],
        vec![0, 7],
        vec![40_001],
        vec![3, 13_007],
        vec![13_007, 3],
        vec![31, 37, 41],
        vec![1, 1, 33_333],
    ] {
        let mut out = Tensor::<Complex<f64>>::random(&mut rng, &extents, Order::Any, false);
        let expected = out.view().mapv(|z| z.conj());
        pool.install(|| conjugate(out.view_mut()));
        assert_eq!(out.view(), expected);
    }
}
