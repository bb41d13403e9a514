//! Measures the bandwidth (GB/s) of memory-bound contractions.
//!
//! Command: `cargo bench --bench bandwidth -- [threads] [MB] [filter]`.
//!
//! Compares each contraction with a plain loop that reads and writes the same number of bytes, in memory order, with
//! the same number of threads and the widest vectors of the machine. Runs of the contraction and of the loop alternate.
//! The benchmark prints both median bandwidths and the median ratio of paired runs. Bytes are counted once per tensor,
//! so if a cache line of the output is read before it is overwritten, only the write is counted.

#[path = "../tests/common/kernels.rs"]
mod kernels;

use std::hint::black_box;
use std::time::{Duration, Instant};

use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, Workspace, host};
use kernels::{contract_planned, plan, unary};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

type Extents = &'static [(char, usize)];

/// Expression, extents and scaled label of each case. With these extents, the largest tensor has about 1 MB in f32 (0.5
/// MB in `i,i->`). Before a measurement, the extent of the scaled label is multiplied so that the largest tensor has
/// the requested size.
const CASES: &[(&str, Extents, char)] = &[
    ("i,i->", &[('i', 1 << 17)], 'i'),
    ("mk,k->m", &[('m', 128), ('k', 2048)], 'm'),
    ("km,k->m", &[('k', 128), ('m', 2048)], 'k'),
    ("cmk,ck->cm", &[('c', 4), ('m', 64), ('k', 1024)], 'c'),
    ("mk,nk->mn", &[('m', 4), ('n', 3), ('k', 1 << 15)], 'k'),
    ("mk,kn->mn", &[('m', 4), ('n', 1024), ('k', 256)], 'k'),
    ("i,j->ij", &[('i', 128), ('j', 2048)], 'i'),
    ("i,j->ji", &[('i', 1024), ('j', 256)], 'j'),
    ("ij,kl->ikjl", &[('i', 4), ('k', 16), ('j', 16), ('l', 256)], 'i'),
    ("cij,cij->cij", &[('c', 2), ('i', 128), ('j', 512)], 'c'),
    ("cij,c->cij", &[('c', 256), ('i', 32), ('j', 16)], 'c'),
    ("cij,cji->ijc", &[('c', 64), ('i', 64), ('j', 32)], 'j'),
    ("ij,ji->ij", &[('i', 256), ('j', 512)], 'i'),
    ("ij,ij->i", &[('i', 512), ('j', 256)], 'i'),
    ("ij,ij->j", &[('i', 64), ('j', 2048)], 'i'),
    ("abcdef->fedcba", &[('a', 8), ('b', 8), ('c', 8), ('d', 8), ('e', 8), ('f', 4)], 'f'),
    ("ab->ba", &[('a', 256), ('b', 512)], 'a'),
];

/// Cases with extents so small that the time of a call is mostly overhead.
const TINY: &[(&str, Extents)] = &[
    ("mk,kn->mn", &[('m', 4), ('k', 4), ('n', 4)]),
    ("mk,nk->mn", &[('m', 4), ('k', 4), ('n', 4)]),
    ("mk,kn->mn", &[('m', 8), ('k', 8), ('n', 8)]),
    ("mk,k->m", &[('m', 16), ('k', 16)]),
    ("i,i->", &[('i', 64)]),
    ("i,j->ij", &[('i', 8), ('j', 8)]),
    ("cij,cij->cij", &[('c', 4), ('i', 4), ('j', 4)]),
    ("ij,ji->ij", &[('i', 8), ('j', 8)]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let mut numbers = arguments.iter().filter_map(|a| a.parse::<usize>().ok());
    let (threads, megabytes) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(64));
    let filter = arguments.iter().find(|a| a.parse::<usize>().is_err()).cloned().unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    println!("{threads} threads, largest tensor about {megabytes} MB");
    for &(expression, extents) in TINY.iter().filter(|(expression, _)| expression.contains(&filter)) {
        pool.install(|| {
            tiny::<f32>(expression, extents);
            tiny::<Complex<f64>>(expression, extents);
        });
    }
    for &(expression, extents, grows) in CASES.iter().filter(|(expression, ..)| expression.contains(&filter)) {
        pool.install(|| {
            case::<f32>(expression, extents, grows, megabytes, threads);
            case::<f64>(expression, extents, grows, megabytes, threads);
            case::<Complex<f32>>(expression, extents, grows, megabytes, threads);
        });
    }
}

/// Prints the time per call in nanoseconds, without the time of planning.
fn tiny<T: Element>(expression: &str, extents: &[(char, usize)]) {
    let (operands, out) = expression.split_once("->").expect("an arrow");
    let (left, right) = operands.split_once(',').expect("two operands");
    let extent = |c: char| extents.iter().find(|(label, _)| *label == c).expect("an extent for each label").1;
    let [a, b] = [left, right].map(|labels| random::<T>(&shape(labels, extent)));
    let mut result = random::<T>(&shape(out, extent));
    let [left, right, out] = [left, right, out].map(labels);
    let plan = plan((&left, &a.view()), (&right, &b.view()), (&out, &result.view()), &host());
    let mut workspace = Workspace::new();
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..31 {
        let start = Instant::now();
        for _ in 0..2000 {
            contract_planned(&plan, T::ONE, a.view(), b.view(), T::ZERO, result.view_mut(), &mut workspace)
                .expect("enough memory");
            black_box(&mut result);
        }
        times.push(start.elapsed().as_nanos() as f64 / 2000.0);
    }
    println!("{:9} {expression:14} {extents:?}: {:.0} ns", T::DTYPE.name(), median(&mut times));
}

fn case<T: Element>(expression: &str, extents: &[(char, usize)], grows: char, megabytes: usize, threads: usize) {
    let (operands, out) = expression.split_once("->").expect("an arrow");
    let operands: Vec<&str> = operands.split(',').collect();
    let extent = |c: char| {
        let (_, extent) = extents.iter().find(|(label, _)| *label == c).expect("an extent for each label");
        if c == grows { (extent * megabytes * 4 / size_of::<T>()).max(1) } else { *extent }
    };
    let arrays: Vec<ArrayD<T>> = operands.iter().map(|labels| random(&shape(labels, extent))).collect();
    let mut result = ArrayD::<T>::zeros_like(&shape(out, extent));
    let labels: Vec<Vec<Label>> = operands.iter().map(|text| labels(text)).collect();
    let out_labels = self::labels(out);
    let read = arrays.iter().map(|array| array.len() * size_of::<T>()).sum::<usize>();
    let written = result.len() * size_of::<T>();

    let mut workspace = Workspace::new();
    let planned = (arrays.len() == 2).then(|| {
        let [left, right] = [0, 1].map(|i| (&labels[i][..], arrays[i].view()));
        plan((left.0, &left.1), (right.0, &right.1), (&out_labels, &result.view()), &host())
    });
    let mut ours = || {
        let start = Instant::now();
        match &planned {
            Some(plan) => {
                let (left, right) = (arrays[0].view(), arrays[1].view());
                contract_planned(plan, T::ONE, left, right, T::ZERO, result.view_mut(), &mut workspace)
                    .expect("enough memory");
            }
            None => unary((&labels[0], arrays[0].view()), (&out_labels, result.view_mut())),
        }
        black_box(&mut result);
        start.elapsed()
    };
    let mut plain = PlainLoops::new(read / 4, written / 4, threads);
    let (mut mine, mut loops, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let start = Instant::now();
    while mine.len() < 7 || start.elapsed() < Duration::from_millis(700) {
        let (a, b) = (ours().as_secs_f64(), plain.time().as_secs_f64());
        mine.push(a);
        loops.push(b);
        ratios.push(b / a);
    }
    let bytes = (read + written) as f64 / 1e9;
    println!(
        "{:9} {expression:14} {:6.1} MB: {:6.2} GB/s, plain loop {:6.2} GB/s, ratio {:.2}",
        T::DTYPE.name(),
        bytes * 1e3,
        bytes / median(&mut mine[1..]),
        bytes / median(&mut loops[1..]),
        median(&mut ratios[1..])
    );
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn shape(labels: &str, extent: impl Fn(char) -> usize) -> Vec<usize> {
    labels.chars().map(extent).collect()
}

fn labels(text: &str) -> Vec<Label> {
    text.chars().map(|c| Label(c as u32)).collect()
}

fn random<T: Element>(shape: &[usize]) -> ArrayD<T> {
    let mut next = 0u32;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        T::from_f64(f64::from(next >> 16) / 65536.0 - 0.5, 0.25)
    })
}

/// Creates arrays whose pages are mapped before timing starts.
trait ZerosLike {
    fn zeros_like(shape: &[usize]) -> Self;
}

impl<T: Element> ZerosLike for ArrayD<T> {
    fn zeros_like(shape: &[usize]) -> Self {
        ArrayD::from_elem(IxDyn(shape), T::ONE)
    }
}

/// The arrays that the plain loops read and write.
struct PlainLoops {
    read: Vec<f32>,
    written: Vec<f32>,
    threads: usize,
}

/// Number of elements per block. The loop alternates between reading and writing one block, so that both arrays are
/// finished at about the same time.
const STEP: usize = 4096;

impl PlainLoops {
    fn new(read: usize, written: usize, threads: usize) -> Self {
        PlainLoops { read: vec![1.0; read], written: vec![1.0; written], threads }
    }

    fn time(&mut self) -> Duration {
        let start = Instant::now();
        // Number of elements per thread, rounded up to complete cache lines.
        let share = |len: usize| (len / self.threads).next_multiple_of(16).max(16);
        let (read, written) = (share(self.read.len()), share(self.written.len()));
        match self.threads {
            1 => part(&self.read, &mut self.written),
            threads => rayon::scope(|scope| {
                let mut writes = self.written.chunks_mut(written);
                let mut reads = self.read.chunks(read);
                for _ in 0..threads {
                    let (from, to) = (reads.next().unwrap_or(&[]), writes.next().unwrap_or(&mut []));
                    scope.spawn(move |_| part(from, to));
                }
            }),
        }
        black_box(&mut self.written);
        start.elapsed()
    }
}

fn part(read: &[f32], written: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature test above found AVX-512 F.
            return unsafe { part_avx512(read, written) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature test above found AVX2.
            return unsafe { part_avx2(read, written) };
        }
    }
    plain(read, written);
}

/// # Safety
/// The processor must have AVX-512 F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn part_avx512(read: &[f32], written: &mut [f32]) {
    plain(read, written);
}

/// # Safety
/// The processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn part_avx2(read: &[f32], written: &mut [f32]) {
    plain(read, written);
}

#[inline(always)]
fn plain(read: &[f32], written: &mut [f32]) {
    let blocks = read.len().max(written.len()).div_ceil(STEP).max(1);
    let mut total = [0.0f32; 64];
    for block in 0..blocks {
        let bound = |len: usize, block: usize| if block == blocks { len } else { len * block / blocks / 16 * 16 };
        let range = |len: usize| bound(len, block)..bound(len, block + 1);
        let (from, to) = (range(read.len()), range(written.len()));
        let (from, to) = (&read[from], &mut written[to]);
        // Copies elements from `from` to `to` until the shorter of the two ends. Sums the remaining elements of `from`,
        // and fills the remainder of `to`.
        let (copied, summed) = from.split_at(from.len().min(to.len()));
        let (copies, filled) = to.split_at_mut(copied.len());
        // Without the addition, the compiler would replace this loop by a call to memcpy.
        copies.iter_mut().zip(copied).for_each(|(copy, value)| *copy = *value + 1.0);
        filled.fill(total[0]);
        let mut chunks = summed.chunks_exact(64);
        for chunk in &mut chunks {
            total.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += value);
        }
        total.iter_mut().zip(chunks.remainder()).for_each(|(sum, value)| *sum += value);
    }
    black_box(total);
}
