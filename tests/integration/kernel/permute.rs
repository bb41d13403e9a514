//! Compares permutations and sums with expected results bit by bit, for every instruction set, element type and number
//! of threads.

use super::tensor::{Order, Tensor};
use crate::common::Rng;
use crate::common::kernels::unary_planned;
use einsum_dist::Dtype;
use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, available, host};
use einsum_dist::local_plan::{Isa, Layout, Target, plan_unary};
use num_complex::Complex;

/// Extents near the lengths of vectors, cache lines and blocks.
const EXTENTS: [usize; 16] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64, 65, 130, 300];

fn extents(rng: &mut Rng, rank: usize, max_elements: usize) -> Vec<usize> {
    let mut room = max_elements;
    (0..rank)
        .map(|_| {
            let fitting: Vec<usize> = EXTENTS.into_iter().filter(|&e| e <= room).collect();
            let extent = if rng.one_in(60) { 0 } else { fitting[rng.below(fitting.len())] };
            room /= extent.max(1);
            extent
        })
        .collect()
}

/// Fills a tensor with integers, so that sums are equal in any order.
fn whole<T: Element>(tensor: &mut Tensor<T>) {
    let mut next = 0;
    tensor.view_mut().iter_mut().for_each(|element| {
        next = (next * 5 + 3) % 127;
        *element = T::from_f64(f64::from(next), f64::from(next % 7));
    });
}

fn random<T: Element>(isa: Isa, threads: usize, seed: u64, rounds: usize) {
    let mut rng = Rng::new(seed);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for round in 0..rounds {
        let rank = rng.below(9);
        let max_elements = if round % 8 == 0 { 1 << 18 } else { 1 << 13 };
        let extents = extents(&mut rng, rank, max_elements);
        let labels: Vec<Label> = (0..rank as u32).map(Label).collect();
        let mut kept = labels.clone();
        if round % 3 == 0 {
            kept.retain(|_| !rng.one_in(3));
        }
        rng.shuffle(&mut kept);
        let shape: Vec<usize> = kept.iter().map(|l| extents[l.0 as usize]).collect();
        let mut input = Tensor::<T>::random(&mut rng, &extents, Order::dense_if(round % 2 == 0), false);
        whole(&mut input);
        let mut out = Tensor::<T>::random(&mut rng, &shape, Order::dense_if(round % 4 < 3), false);
        let mark = T::from_f64(-77.0, 1.0);
        out.fill_memory(mark);
        out.view_mut().fill(T::from_f64(f64::NAN, f64::NAN));
        let plan = {
            let (from, to) = (input.view(), out.view());
            let from = Layout::new(&labels, from.shape(), from.strides());
            plan_unary(
                &from,
                &Layout::new(&kept, to.shape(), to.strides()),
                T::DTYPE,
                &Target { isa, threads, ..host() },
            )
        };
        pool.install(|| unary_planned(&plan, isa, input.view(), out.view_mut()));
        let mut want = input.view().to_owned();
        let mut left = labels.clone();
        while let Some(at) = left.iter().position(|l| !kept.contains(l)) {
            want = want.fold_axis(ndarray::Axis(at), T::ZERO, |&a, &b| a + b);
            left.remove(at);
        }
        let order: Vec<usize> = kept.iter().map(|label| left.iter().position(|l| l == label).unwrap()).collect();
        let case = format!("{} {} threads {threads} {extents:?} -> {kept:?} {plan:?}", isa.name(), T::DTYPE.name());
        assert!(out.view() == want.permuted_axes(order), "{case}");
        assert!(out.gaps_are(mark), "{case}");
    }
}

#[test]
fn every_instruction_set_type_and_number_of_threads() {
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        for threads in 1..=3 {
            let seed = 10 * threads as u64 + isa as u64;
            random::<f32>(isa, threads, seed, 150);
            random::<f64>(isa, threads, seed + 100, 150);
            random::<Complex<f32>>(isa, threads, seed + 200, 150);
            random::<Complex<f64>>(isa, threads, seed + 300, 150);
        }
    }
}

/// Tests tensors that are large enough for the buffered loop and for streaming stores.
#[test]
fn large_ones_pass_through_the_buffer() {
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        for threads in 1..=2 {
            for (extents, order) in [
                (&[1027, 1031][..], &[1, 0][..]),
                (&[24, 12, 10, 24, 16], &[4, 3, 2, 1, 0]),
                (&[70, 129, 131], &[1, 0, 2]),
                (&[2; 21], &[3, 1, 20, 7, 6, 5, 4, 2, 0, 9, 10, 8, 19, 18, 17, 11, 12, 13, 16, 15, 14]),
            ] {
                large::<f32>(isa, threads, extents, order);
                large::<f64>(isa, threads, extents, order);
                large::<Complex<f32>>(isa, threads, extents, order);
                large::<Complex<f64>>(isa, threads, extents, order);
            }
        }
    }
}

fn large<T: Element>(isa: Isa, threads: usize, extents: &[usize], order: &[usize]) {
    let mut next = 0.0;
    let input = ndarray::ArrayD::from_shape_simple_fn(extents, || {
        next += 1.0;
        T::from_f64(next, -next)
    });
    let labels: Vec<Label> = (0..extents.len() as u32).map(Label).collect();
    let kept: Vec<Label> = order.iter().map(|&axis| labels[axis]).collect();
    let want = input.view().permuted_axes(order.to_vec());
    let mut out = ndarray::ArrayD::from_elem(want.raw_dim(), T::from_f64(f64::NAN, f64::NAN));
    let from = Layout::new(&labels, input.shape(), input.strides());
    let plan = plan_unary(
        &from,
        &Layout::new(&kept, out.shape(), out.strides()),
        T::DTYPE,
        &Target { isa, threads, ..host() },
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| unary_planned(&plan, isa, input.view(), out.view_mut()));
    assert!(out == want, "{} {} {threads} threads {extents:?} {order:?}", isa.name(), T::DTYPE.name());
}

/// Tests sums over, and next to, short dimensions of tensors with gaps between lines.
#[test]
fn sums_of_short_dimensions() {
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        for threads in [1, 3] {
            for (extents, gap, kept) in [
                (&[40_001, 2][..], 0, &[0][..]),
                (&[13_007, 7], 2, &[0]),
                (&[5_003, 15], 0, &[0]),
                (&[5_003, 16], 0, &[0]),
                (&[1_009, 67], 5, &[0]),
                (&[23, 41, 129], 3, &[1, 0]),
                (&[300, 515], 0, &[0]),
                (&[70, 1_031], 0, &[0]),
                (&[40_001, 3], 0, &[1]),
                (&[9_001, 4, 3], 0, &[2, 0]),
                (&[9_001, 4, 3], 1, &[2, 1]),
                (&[3, 9_001, 5], 0, &[1]),
            ] {
                short::<f32>(isa, threads, extents, gap, kept);
                short::<f64>(isa, threads, extents, gap, kept);
                short::<Complex<f32>>(isa, threads, extents, gap, kept);
                short::<Complex<f64>>(isa, threads, extents, gap, kept);
            }
        }
    }
}

/// `gap` elements follow each line of the input.
fn short<T: Element>(isa: Isa, threads: usize, extents: &[usize], gap: usize, kept: &[usize]) {
    let mut whole = extents.to_vec();
    whole[extents.len() - 1] += gap;
    let mut next = 0;
    let input = ndarray::ArrayD::from_shape_simple_fn(whole, || {
        next = (next * 5 + 3) % 127;
        T::from_f64(f64::from(next), f64::from(next % 7))
    });
    let input = input.slice_each_axis(|axis| (0..extents[axis.axis.index()]).into());
    let labels: Vec<Label> = (0..extents.len() as u32).map(Label).collect();
    let out_labels: Vec<Label> = kept.iter().map(|&axis| labels[axis]).collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| extents[axis]).collect();
    let mut want = ndarray::ArrayD::from_elem(shape, T::ZERO);
    for (at, &element) in input.indexed_iter() {
        let out: Vec<usize> = kept.iter().map(|&axis| at[axis]).collect();
        want[&out[..]] += element;
    }
    let mut out = ndarray::ArrayD::from_elem(want.raw_dim(), T::from_f64(f64::NAN, f64::NAN));
    let from = Layout::new(&labels, input.shape(), input.strides());
    let target = Target { isa, threads, ..host() };
    let plan = plan_unary(&from, &Layout::new(&out_labels, out.shape(), out.strides()), T::DTYPE, &target);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| unary_planned(&plan, isa, input, out.view_mut()));
    assert!(out == want, "{} {} {threads} threads {extents:?} {kept:?}", isa.name(), T::DTYPE.name());
}

/// Tests that an infinite part of a complex number does not change the other part.
#[test]
fn parts_of_complex_sums_are_apart() {
    let mut input = ndarray::ArrayD::from_elem(vec![40_001, 2], Complex::new(1.0, 2.0));
    input[[7, 1]] = Complex::new(f64::INFINITY, 0.5);
    input[[9, 0]] = Complex::new(0.5, f64::NAN);
    let labels = [Label(0), Label(1)];
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        let mut out = ndarray::ArrayD::from_elem(vec![40_001], Complex::new(0.0, 0.0));
        let from = Layout::new(&labels, input.shape(), input.strides());
        let target = Target { isa, threads: 2, ..host() };
        let plan =
            plan_unary(&from, &Layout::new(&labels[..1], out.shape(), out.strides()), Dtype::Complex128, &target);
        unary_planned(&plan, isa, input.view(), out.view_mut());
        assert_eq!((out[[7]], out[[8]], out[[9]].re), (Complex::new(f64::INFINITY, 2.5), Complex::new(2.0, 4.0), 1.5));
        assert!(out[[9]].im.is_nan());
    }
}
