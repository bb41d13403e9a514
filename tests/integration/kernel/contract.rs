//! Compares 20,000 random contractions by every kernel with the reference. Cases vary in the kinds and the order of
//! dimensions, strides, `alpha` and `beta`, extents (near all block sizes), cache sizes, numbers of threads and element
//! types.
//!
//! `KERNEL_CASES` sets the number of cases per element type (default 5,000). With fewer cases, the test does not
//! require that rare code paths occur.

use super::case::{Case, Style};
use super::check::Bench;
use super::targets::{kernels, name};
use super::tensor::Order;
use einsum_dist::kernel::{Element, available};
use einsum_dist::local_plan::Isa;
use num_complex::Complex;

/// Number of cases per element type. One in `LARGE` cases is large.
const CASES: usize = 5_000;
const LARGE: usize = 50;
/// Size of the largest index space.
const SPACE: usize = 1 << 22;

/// Code paths that small cases must take. The paths in `COMMON` must be taken several times, the paths in `RARE` once,
/// and the paths in `OF_EVERY_KERNEL` once with each kernel.
const COMMON: [&str; 21] = [
    "swapped",
    "not swapped",
    "batches",
    "slabs of several",
    "slabs of several, the last shorter",
    "columns inside",
    "boxes of rows",
    "boxes of rows, the last shorter",
    "boxes of columns",
    "boxes of columns, the last shorter",
    "boxes of depth",
    "boxes of depth, the last shorter",
    "boxes of rows, out direct",
    "boxes of rows, out buffered",
    "boxes of depth, out direct",
    "boxes of depth, out buffered",
    "panels of rows end with runs",
    "panels of columns end with runs",
    "loops along out",
    "loops along the sum",
    "loops with any steps",
];
const RARE: [&str; 11] = [
    "rows in place",
    "rows by runs",
    "rows by depth",
    "rows by slab",
    "rows by elements",
    "rows across",
    "columns in place",
    "columns by runs",
    "columns by depth",
    "columns by slab",
    "columns by elements",
];
const OF_EVERY_KERNEL: [&str; 6] =
    ["loops", "rows in place", "rows by depth", "columns in place", "out direct", "out buffered"];
/// Code paths that large cases must take.
const LARGE_ONES: [&str; 8] = [
    "grid along batches",
    "grid along rows",
    "grid along columns",
    "grid along depth",
    "boxes of rows, columns and depth",
    "loops on threads",
    "loops that split the sum",
    "copied blocks on threads",
];

fn cases() -> usize {
    std::env::var("KERNEL_CASES").map_or(CASES, |text| text.parse().expect("a number of cases"))
}

/// Whether there are enough cases to require rare code paths.
fn all() -> bool {
    cases() >= CASES
}

/// Contracts cases with index spaces of up to 20,000 points, most of them much smaller.
fn small<T: Element>(seed: u64) {
    let mut bench = Bench::new(seed);
    let count = cases() - cases() / LARGE;
    for round in 0..count {
        let space = 1 << (7 + bench.rng.below(8));
        let space = if bench.rng.one_in(10) { 20_000 } else { space };
        let style = Style::random(&mut bench.rng);
        let case = Case::random(&mut bench.rng, style, space, false);
        bench.check::<T>(case, Order::dense_if(round % 3 == 0));
    }
    let coverage = &bench.coverage;
    println!("{} small:\n{coverage}", T::DTYPE.name());
    assert_eq!(coverage.of("cases"), count);
    assert!(coverage.of("cases with elements") * 10 >= count * 7, "too many empty cases: {coverage}");
    coverage.demand(&["nothing", "scale", "cases with elements"], 1);
    if all() {
        coverage.demand(&COMMON, 3);
        coverage.demand(&RARE, 1);
        for kernel in kernels(T::DTYPE) {
            for way in OF_EVERY_KERNEL {
                coverage.demand(&[&format!("{}: {way}", name(&kernel))], 1);
            }
        }
    }
}

/// Contracts cases whose index spaces are large enough for several threads.
fn large<T: Element>(seed: u64) {
    let mut bench = Bench::new(seed);
    let (least, mut count) = (cases() / LARGE, 0);
    // On some processors, some paths are rare.
    while count < least || count < 4 * least && LARGE_ONES.iter().any(|path| bench.coverage.of(path) == 0) {
        let space = (SPACE >> bench.rng.below(5)) - bench.rng.below(1 << 16);
        let style = Style::random(&mut bench.rng);
        let case = Case::random(&mut bench.rng, style, space, true);
        bench.check::<T>(case, Order::dense_if(count % 3 == 0));
        count += 1;
    }
    let coverage = &bench.coverage;
    println!("{} large:\n{coverage}", T::DTYPE.name());
    assert_eq!(coverage.of("cases"), count);
    assert!(coverage.of("cases with elements") * 10 >= count * 7, "too many empty cases: {coverage}");
    if all() {
        coverage.demand(&LARGE_ONES, 1);
    }
}

/// Contracts cases with a dimension of up to tens of thousands of indices beside very short ones.
fn short<T: Element>(seed: u64) {
    let mut bench = Bench::new(seed);
    for round in 0..cases() / LARGE {
        let case = Case::random(&mut bench.rng, Style::Short, 1 << 18, true);
        bench.check::<T>(case, Order::dense_if(round % 3 == 0));
    }
    println!("{} short:\n{}", T::DTYPE.name(), bench.coverage);
    if all() {
        bench.coverage.demand(&["copied blocks", "copied blocks of a sum", "windows of one"], 2);
        bench.coverage.demand(&["windows of two"], 1);
        for kernel in kernels(T::DTYPE) {
            bench.coverage.demand(&[&format!("{}: loops over copied blocks", name(&kernel))], 1);
        }
    }
}

/// Contracts dense tensors with a long dimension b and a short sum, whose products are adjacent.
fn segments<T: Element>(bench: &mut Bench) {
    for k in [2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 20, 24, 32, 33] {
        for (left, right, out) in [
            ("bik", "bk", "bi"),
            ("bk", "bik", "bi"),
            ("bk", "bk", "b"),
            ("bk", "k", "b"),
            ("bik", "bjk", "bij"),
            ("bik", "jk", "bij"),
        ] {
            let case = |b| Case::new([left, right, out], &[('b', b), ('i', 3), ('j', 2), ('k', k)]);
            let short = case(1).space();
            let case = case((1 << 14) / short + 1 + bench.rng.below(20));
            bench.check::<T>(case, Order::RowMajor);
        }
    }
}

#[test]
fn short_sums() {
    let mut bench = Bench::new(13);
    segments::<f32>(&mut bench);
    segments::<f64>(&mut bench);
    segments::<Complex<f32>>(&mut bench);
    segments::<Complex<f64>>(&mut bench);
    println!("short sums:\n{}", bench.coverage);
    // With shorter vectors, other plans are cheaper for some ways.
    if available(Isa::Avx512) {
        let ways = ["plain, constant", "plain, plain", "plain, picked", "picked, constant", "picked, picked"];
        bench.coverage.demand(&ways.map(|way| format!("segments: {way}")).each_ref().map(String::as_str), 1);
    }
}

#[test]
fn short_dimensions() {
    short::<f32>(9);
    short::<f64>(10);
    short::<Complex<f32>>(11);
    short::<Complex<f64>>(12);
}

#[test]
fn small_f32() {
    small::<f32>(1);
}

#[test]
fn small_f64() {
    small::<f64>(2);
}

#[test]
fn small_complex_f32() {
    small::<Complex<f32>>(3);
}

#[test]
fn small_complex_f64() {
    small::<Complex<f64>>(4);
}

#[test]
fn large_f32() {
    large::<f32>(5);
}

#[test]
fn large_f64() {
    large::<f64>(6);
}

#[test]
fn large_complex_f32() {
    large::<Complex<f32>>(7);
}

#[test]
fn large_complex_f64() {
    large::<Complex<f64>>(8);
}
