//! Tests products with a large `out` and a small k, which write `out` with streaming stores. Also tests variants that
//! forbid such stores.

use einsum_dist::Element;
use einsum_dist::dims::Label;
use einsum_dist::kernel::{Reference, Workspace, available, error_bound};
use einsum_dist::local_plan::{Body, Isa, KernelFamily, Target};
use ndarray::{ArrayD, ArrayView, ArrayViewD, ArrayViewMut, IxDyn};
use num_complex::Complex;

use crate::common::Rng;
use crate::common::kernels::{contract_planned, plan};

/// Extents by label. c and d index columns of `out`, e and f index rows, and g is summed.
const EXTENTS: [(char, usize); 5] = [('c', 33), ('d', 16), ('e', 32), ('f', 257), ('g', 3)];
const LEFT: &str = "cgd";
const RIGHT: &str = "fge";
const OUT: &str = "cfde";

fn labels(text: &str) -> Vec<Label> {
    text.chars().map(|c| Label(c as u32)).collect()
}

fn shape(text: &str) -> Vec<usize> {
    text.chars().map(|c| EXTENTS.iter().find(|(label, _)| *label == c).unwrap().1).collect()
}

/// `offset` is the distance from the start of a cache line to `out` in elements, and `scale` is `alpha`. Returns
/// whether the plan uses streaming stores.
fn check<T: Element>(target: &Target, offset: usize, scale: f64, beta: f64) -> bool {
    let mut rng = Rng::new(3);
    let mut random = |text: &str| ArrayD::<T>::from_shape_simple_fn(IxDyn(&shape(text)), || rng.element());
    let (left, right) = (random(LEFT), random(RIGHT));
    let (left_labels, right_labels, out_labels) = (labels(LEFT), labels(RIGHT), labels(OUT));
    let count: usize = shape(OUT).iter().product();
    let before = if beta == 0.0 { f64::NAN } else { 2.0 };
    let mark = T::from_f64(77.0, 0.0);
    let mut memory = vec![mark; count + 64];
    let start = memory.as_ptr().align_offset(64) + offset;
    memory[start..start + count].fill(T::from_f64(before, 0.0));
    let mut out = ArrayViewMut::from_shape(IxDyn(&shape(OUT)), &mut memory[start..start + count]).unwrap();
    let operands: [(&[Label], ArrayViewD<T>); 2] = [(&left_labels, left.view()), (&right_labels, right.view())];
    let [l, r] = [(operands[0].0, &operands[0].1), (operands[1].0, &operands[1].1)];
    let planned = plan(l, r, (&out_labels, &out.view()), target);
    let streams = matches!(planned.body(), Body::Gemm(gemm) if gemm.streams);
    let (alpha, factor) = (T::from_f64(scale, 0.0), T::from_f64(beta, 0.0));
    contract_planned(&planned, alpha, left.view(), right.view(), factor, out.view_mut(), &mut Workspace::new())
        .unwrap();
    let got = ArrayView::from_shape(IxDyn(&shape(OUT)), &memory[start..start + count]).unwrap();
    let what =
        format!("{} {} offset {offset} alpha {scale} beta {beta}", T::DTYPE.name(), super::targets::name(target));
    assert!(got.iter().all(|value| value.to_c64().is_finite()), "{what}");
    assert!(memory[..start].iter().chain(&memory[start + count..]).all(|value| *value == mark), "{what}");
    let tolerance = error_bound(T::DTYPE, 4, 2);
    let reference = Reference::new(&operands, &out_labels);
    for _ in 0..200 {
        let index: Vec<usize> = shape(OUT).into_iter().map(|extent| rng.below(extent)).collect();
        let sum = reference.element(&index);
        let want = sum.value * scale + beta * if beta == 0.0 { 0.0 } else { before };
        let error = (got[IxDyn(&index)].to_c64() - want).norm();
        assert!(error <= tolerance * (sum.magnitude + 2.0), "{what} at {index:?}: {error}");
    }
    streams
}

fn everywhere<T: Element>() {
    let mut streamed = false;
    for target in super::targets::kernels(T::DTYPE) {
        for threads in [1, 3] {
            let target = Target { threads, ..target };
            for alpha in [0.5, 1.0] {
                let streams = check::<T>(&target, 0, alpha, 0.0);
                streamed |= streams && target.isa == Isa::Avx512 && target.family == KernelFamily::Own;
                check::<T>(&target, 1, alpha, 0.0);
                check::<T>(&target, 0, alpha, 0.5);
                check::<T>(&target, 0, alpha, 1.0);
            }
        }
    }
    // With AVX-512, a vector fills a cache line, so every tile consists of complete cache lines.
    assert!(streamed || !available(Isa::Avx512), "no plan for {} writes past the caches", T::DTYPE.name());
}

#[test]
fn out_may_go_past_the_caches() {
    everywhere::<f32>();
    everywhere::<f64>();
    everywhere::<Complex<f32>>();
    everywhere::<Complex<f64>>();
}
