//! Measures the bandwidth (GB/s) of permutations and sums, and compares it with the bandwidth of a plain loop with the
//! same traffic.
//!
//! Command: `cargo bench --bench permute -- [threads] [filter]`.
//!
//! Runs of the operation and of the plain loop alternate. The plain loop reads and writes the same number of bytes with
//! the same number of threads. The benchmark prints the best bandwidth of several rounds.

#[path = "../tests/common/kernels.rs"]
mod kernels;

use std::time::{Duration, Instant};

use einsum_dist::dims::Label;
use einsum_dist::kernel::Element;
use kernels::unary;
use ndarray::{ArrayD, ArrayViewMutD, IxDyn};
use rayon::prelude::*;

/// Each case is an expression and the extents of its input, in order.
const CASES: &[(&str, &[usize])] = &[
    ("ab->ba", &[500, 500]),
    ("ab->ba", &[1000, 1000]),
    ("ab->ba", &[2000, 2000]),
    ("ab->ba", &[8192, 8192]),
    ("ab->ba", &[4093, 4099]),
    ("abcdef->fedcba", &[24, 20, 20, 24, 20, 24]),
    ("abcdef->fedcba", &[16, 16, 16, 16, 16, 16]),
    ("abcdef->fbdcea", &[24, 20, 20, 24, 20, 24]),
    ("abcde->caedb", &[33, 31, 35, 29, 37]),
    ("abcd->dabc", &[64, 64, 64, 96]),
    ("abc->bac", &[300, 301, 203]),
    ("abc->bac", &[1000, 1001, 3]),
    ("abc->cba", &[8, 200000, 8]),
    ("ab->ba", &[3, 4000000]),
    ("ab->ba", &[4000000, 3]),
    ("abcdefghijklmnopqrstuvw->wvutsrqponmlkjihgfedcba", &[2; 23]),
    ("abc->abc", &[256, 256, 256]),
    ("ab->a", &[4096, 4096]),
    ("ab->b", &[4096, 4096]),
    ("abc->b", &[200, 300, 301]),
    ("abc->ac", &[200, 300, 301]),
    ("abc->ca", &[200, 300, 301]),
    ("ab->", &[4096, 4096]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let threads = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(1);
    let filter = arguments.iter().find(|a| a.parse::<usize>().is_err()).cloned().unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    println!("{threads} threads");
    for &(expression, extents) in CASES.iter().filter(|(expression, _)| expression.contains(&filter)) {
        pool.install(|| case::<f32>(expression, extents, threads));
        pool.install(|| case::<f64>(expression, extents, threads));
    }
}

fn case<T: Element>(expression: &str, extents: &[usize], threads: usize) {
    let (input, output) = expression.split_once("->").expect("an arrow");
    let label = |c: char| Label(c as u32);
    let (in_labels, out_labels): (Vec<Label>, Vec<Label>) =
        (input.chars().map(label).collect(), output.chars().map(label).collect());
    let extent = |c: char| extents[input.find(c).expect("a label of the input")];
    let out_shape: Vec<usize> = output.chars().map(extent).collect();
    let source = ArrayD::<T>::from_elem(IxDyn(extents), T::from_f64(1.5, 0.0));
    let mut out = ArrayD::<T>::from_elem(IxDyn(&out_shape), T::ZERO);
    let moved = (source.len() + out.len()) * size_of::<T>();
    let flat = source.as_slice().expect("a dense array");
    let mut copied = vec![T::ZERO; out.len()];
    let (mut ours, mut plain) = (Duration::MAX, Duration::MAX);
    let begun = Instant::now();
    while ours == Duration::MAX || begun.elapsed() < Duration::from_millis(1200) {
        let start = Instant::now();
        unary((&in_labels, source.view()), (&out_labels, ArrayViewMutD::from(&mut out)));
        ours = ours.min(start.elapsed());
        let start = Instant::now();
        plain_loop(flat, &mut copied, threads);
        plain = plain.min(start.elapsed());
    }
    let rate = |time: Duration| moved as f64 / time.as_secs_f64() / 1e9;
    println!(
        "{:8} {expression:24} {extents:?}: {:.1} GB/s, {:.2} of a plain loop ({:.1})",
        T::DTYPE.name(),
        rate(ours),
        rate(ours) / rate(plain),
        rate(plain)
    );
}

/// Copies `from` to `to` if their lengths are equal. Otherwise fills `to` with the sum of `from`.
fn plain_loop<T: Element>(from: &[T], to: &mut [T], threads: usize) {
    if from.len() == to.len() {
        let chunk = to.len().div_ceil(threads).max(1);
        return to.par_chunks_mut(chunk).zip(from.par_chunks(chunk)).for_each(|(to, from)| plain_copy(to, from));
    }
    let sums: Vec<T> = from.par_chunks(from.len().div_ceil(threads).max(1)).map(plain_sum).collect();
    to.fill(sums.into_iter().fold(T::ZERO, |a, b| a + b));
}

#[inline(never)]
fn plain_copy<T: Element>(to: &mut [T], from: &[T]) {
    // The multiplication prevents the compiler from calling memcpy, whose streaming stores bypass the caches.
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from * T::ONE;
    }
}

#[inline(never)]
fn plain_sum<T: Element>(from: &[T]) -> T {
    let mut lanes = [T::ZERO; 64];
    for chunk in from.chunks_exact(64) {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.into_iter().fold(T::ZERO, |a, b| a + b)
}
