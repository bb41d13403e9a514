//! Unit tests of `effort`.

use super::*;
use crate::dims::Label;
use crate::dtype::Dtype;
use crate::local_plan::{Caches, Isa, KernelFamily, Layout, Target, plan_unary, price_contract, row_major};

const TARGET: Target =
    Target { isa: Isa::Avx2, family: KernelFamily::Own, caches: Caches { l1: 32 << 10, l2: 1 << 20 }, threads: 1 };

fn contraction(terms: [&str; 3], extent: impl Fn(char) -> usize, dtype: Dtype) -> Effort {
    let labels = terms.map(|term| term.chars().map(|c| Label(c as u32)).collect::<Vec<_>>());
    let extents = terms.map(|term| term.chars().map(&extent).collect::<Vec<_>>());
    let strides = extents.each_ref().map(|extents| row_major(extents));
    let [left, right, out] = [0, 1, 2].map(|t: usize| Layout::new(&labels[t], &extents[t], &strides[t]));
    price_contract(&left, &right, &out, dtype, &TARGET).effort
}

#[test]
fn large_products_run_near_the_peak() {
    for dtype in [Dtype::Float32, Dtype::Float64, Dtype::Complex64, Dtype::Complex128] {
        let Effort { slowdown, bytes, threads, .. } = contraction(["mk", "kn", "mn"], |_| 1000, dtype);
        assert!((0.93..1.3).contains(&slowdown), "{dtype:?} {slowdown}");
        assert_eq!((bytes, threads), (2e6 * dtype.size() as f64, 1));
    }
}

#[test]
fn short_products_are_slower_than_the_peak() {
    let slowdown =
        |k: usize| contraction(["mk", "kn", "mn"], |c| if c == 'k' { k } else { 200 }, Dtype::Float32).slowdown;
    assert!(slowdown(20) > 1.1 * slowdown(200));
}

#[test]
fn loops_have_only_other_work_and_the_bytes_of_all_tensors() {
    let Effort { slowdown, nanoseconds, bytes, .. } = contraction(["ij", "ij", "ij"], |_| 100, Dtype::Float64);
    assert_eq!((slowdown, bytes), (0.0, 3e4 * 8.0));
    assert!(nanoseconds > 0.0);
}

#[test]
fn unary_steps_differ_by_order() {
    let effort = |out: [u32; 2]| {
        let [from, to] = [[0, 1], out].map(|labels| labels.map(Label));
        let (extents, strides) = ([300; 2], [300, 1]);
        let [from, to] = [&from, &to].map(|labels| Layout::new(labels, &extents, &strides));
        plan_unary(&from, &to, Dtype::Float32, &TARGET).effort(4)
    };
    let [copy, transpose] = [effort([0, 1]), effort([1, 0])];
    assert_eq!((copy.nanoseconds, copy.bytes), (0.0, 720_000.0));
    assert!(transpose.nanoseconds > 1e4);
    assert_eq!(transpose.bytes, copy.bytes);
}
