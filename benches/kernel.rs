//! GFLOP/s of local contractions; `cargo bench --bench kernel -- [threads] [filter]`.
//!
//! Every case is also an equally large matrix product, whose rate stands beside it: that is what a contraction could
//! reach if strides and order cost nothing. Best of several alternating rounds.

use std::time::{Duration, Instant};

use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, Workspace, contract};
use ndarray::{ArrayD, IxDyn};

/// Expression and extents, in the order of first appearance of the labels.
const CASES: &[(&str, &[usize])] = &[
    ("mk,kn->mn", &[256, 256, 256]),
    ("mk,kn->mn", &[1024, 1024, 1024]),
    ("mk,kn->nm", &[1024, 1024, 1024]),
    ("km,kn->mn", &[1024, 1024, 1024]),
    ("mk,nk->mn", &[1024, 1024, 1024]),
    ("km,nk->nm", &[1024, 1024, 1024]),
    ("mk,kn->mn", &[1021, 1021, 1021]),
    ("mk,kn->mn", &[2048, 2048, 2048]),
    ("mk,kn->mn", &[4096, 4096, 4096]),
    ("cmk,ckn->cmn", &[64, 256, 256, 256]),
    ("cmk,ckn->cmn", &[4096, 32, 32, 32]),
    ("cmk,ckn->cmn", &[32768, 8, 8, 8]),
    ("mkc,knc->mnc", &[128, 128, 64, 128]),
    ("abij,jbk->ikab", &[8, 16, 96, 96, 96]),
    ("abcd,dcef->aebf", &[32, 32, 32, 32, 32, 32]),
    ("badc,cefd->fbea", &[32, 32, 32, 32, 32, 32]),
    ("cij,cij->cij", &[64, 256, 256]),
    ("mk,k->m", &[4096, 4096]),
    ("m,n->mn", &[4096, 4096]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let threads = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(1);
    let filter = arguments.iter().find(|a| a.parse::<usize>().is_err()).cloned().unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    println!("{threads} threads");
    for &(expression, extents) in CASES.iter().filter(|(expression, _)| expression.contains(&filter)) {
        pool.install(|| case::<f32>(expression, extents));
        pool.install(|| case::<f64>(expression, extents));
    }
}

fn case<T: Element>(expression: &str, extents: &[usize]) {
    let mut order: Vec<char> = Vec::new();
    expression.chars().filter(|c| c.is_alphabetic()).for_each(|c| {
        if !order.contains(&c) {
            order.push(c);
        }
    });
    let extent = |c: char| extents[order.iter().position(|&o| o == c).expect("a label of the expression")];
    let parts: Vec<&str> = expression.split([',', '>']).map(|part| part.trim_end_matches('-')).collect();
    let [left, right, out] = parts[..] else { panic!("{expression} is no binary contraction") };
    let kind = |l: bool, r: bool, o: bool| -> usize {
        let member = |c: &&char| left.contains(**c) == l && right.contains(**c) == r && out.contains(**c) == o;
        order.iter().filter(member).map(|&c| extent(c)).product()
    };
    let (c, m, n, k) =
        (kind(true, true, true), kind(true, false, true), kind(false, true, true), kind(true, true, false));
    let gflop = 2.0 * [c, m, n, k].into_iter().map(|e| e as f64).product::<f64>() / 1e9;
    let side = ((gflop * 0.5e9).cbrt() as usize).max(1);

    let mut workspace = Workspace::new();
    let mut contraction = Operands::<T>::new([left, right, out], &extent);
    let mut product = Operands::<T>::new(["mk", "kn", "mn"], &|_| side);
    let (mut best, mut equal) = (Duration::MAX, Duration::MAX);
    let start = Instant::now();
    while best == Duration::MAX || start.elapsed() < Duration::from_millis(1500) {
        best = best.min(contraction.time(&mut workspace));
        equal = equal.min(product.time(&mut workspace));
    }
    let rate = gflop / best.as_secs_f64();
    let square = 2.0 * (side as f64).powi(3) / 1e9 / equal.as_secs_f64();
    println!(
        "{:8} {expression:18} {extents:?}: {rate:.1} GFLOP/s, {:.2} of a product of side {side} ({square:.1})",
        T::DTYPE.name(),
        rate / square
    );
}

struct Operands<T> {
    labels: [Vec<Label>; 3],
    left: ArrayD<T>,
    right: ArrayD<T>,
    out: ArrayD<T>,
}

impl<T: Element> Operands<T> {
    fn new(labels: [&str; 3], extent: &dyn Fn(char) -> usize) -> Self {
        let array = |labels: &str| {
            let shape: Vec<usize> = labels.chars().map(extent).collect();
            let mut next = 0u32;
            ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
                next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                T::from_f64(f64::from(next >> 16) / 65536.0 - 0.5, 0.0)
            })
        };
        let [left, right, out] = labels.map(array);
        let labels = labels.map(|text| text.chars().map(|c| Label(c as u32)).collect());
        Operands { labels, left, right, out }
    }

    fn time(&mut self, workspace: &mut Workspace) -> Duration {
        let [l, r, o] = &self.labels;
        let start = Instant::now();
        let (left, right, out) = (self.left.view(), self.right.view(), self.out.view_mut());
        contract(T::ONE, (l, left), (r, right), T::ZERO, (o, out), workspace).expect("enough memory");
        start.elapsed()
    }
}
