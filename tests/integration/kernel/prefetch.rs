//! Tests contractions whose micro-kernels prefetch what is packed next: operands that do not fit into the second-level
//! cache of the target, in boxes of short stretches.

use einsum_dist::Element;
use einsum_dist::dims::Label;
use einsum_dist::kernel::{Reference, Workspace, error_bound};
use einsum_dist::local_plan::{Body, Caches, Isa, KernelFamily, Target};
use ndarray::{ArrayD, ArrayViewD, IxDyn};

use crate::common::Rng;
use crate::common::kernels::{contract_planned, plan};

const EXTENTS: [(char, usize); 4] = [('m', 203), ('n', 150), ('k', 29), ('l', 23)];

fn labels(text: &str) -> Vec<Label> {
    text.chars().map(|c| Label(c as u32)).collect()
}

fn shape(text: &str) -> Vec<usize> {
    text.chars().map(|c| EXTENTS.iter().find(|(label, _)| *label == c).unwrap().1).collect()
}

/// Returns the operands that the plan prefetches.
fn check<T: Element>([left, right, out]: [&str; 3], target: &Target) -> [bool; 2] {
    let mut rng = Rng::new(5);
    let mut random = |text: &str| ArrayD::<T>::from_shape_simple_fn(IxDyn(&shape(text)), || rng.element());
    let (a, b) = (random(left), random(right));
    let (a_labels, b_labels, out_labels) = (labels(left), labels(right), labels(out));
    let operands: [(&[Label], ArrayViewD<T>); 2] = [(&a_labels, a.view()), (&b_labels, b.view())];
    let mut got = ArrayD::from_elem(IxDyn(&shape(out)), T::from_f64(f64::NAN, 0.0));
    let planned = plan((&a_labels, &operands[0].1), (&b_labels, &operands[1].1), (&out_labels, &got.view()), target);
    contract_planned(&planned, T::ONE, a.view(), b.view(), T::ZERO, got.view_mut(), &mut Workspace::new()).unwrap();
    let what = format!("{left},{right}->{out} {} {}", T::DTYPE.name(), super::targets::name(target));
    assert!(got.iter().all(|value| value.to_c64().is_finite()), "{what}");
    let terms: usize = shape("kl").iter().product();
    let tolerance = error_bound(T::DTYPE, terms as u64, 2);
    let reference = Reference::new(&operands, &out_labels);
    for _ in 0..300 {
        let index: Vec<usize> = shape(out).into_iter().map(|extent| rng.below(extent)).collect();
        let want = reference.element(&index);
        let error = (got[IxDyn(&index)].to_c64() - want.value).norm();
        assert!(error <= tolerance * want.magnitude, "{what} at {index:?}: {error}");
    }
    match planned.body() {
        Body::Gemm(gemm) => gemm.prefetches,
        _ => [false; 2],
    }
}

fn everywhere<T: Element>() {
    for target in super::targets::kernels(T::DTYPE) {
        let own = target.family == KernelFamily::Own;
        let mut prefetched = [false; 2];
        for (threads, l1) in [1, 2].into_iter().flat_map(|threads| [8, 16, 32].map(|kib| (threads, kib << 10))) {
            let target = Target { threads, caches: Caches { l1, l2: 256 << 10 }, ..target };
            for case in [
                ["mkl", "nkl", "mn"],
                ["klm", "nlk", "nm"],
                ["lmk", "nkl", "mn"],
                ["lmk", "nkl", "nm"],
                ["klm", "kln", "mn"],
            ] {
                let prefetches = check::<T>(case, &target);
                prefetched = [0, 1].map(|operand| prefetched[operand] || prefetches[operand]);
            }
        }
        let expected = [own && matches!(target.isa, Isa::Avx2 | Isa::Avx512), own && target.isa == Isa::Avx512];
        assert_eq!(prefetched, expected, "{} {}", T::DTYPE.name(), super::targets::name(&target));
    }
}

#[test]
fn what_is_packed_next_is_prefetched() {
    everywhere::<f32>();
    everywhere::<f64>();
}
