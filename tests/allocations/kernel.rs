//! Tests that a planned contraction or permutation allocates nothing after its warm-up runs.
//!
//! The test counts the allocations of all threads of one pool. Views are created before counting starts. ndarray
//! allocates the shape and the strides of a view only if it has more than four dimensions, and no tensor here has more
//! than four. All runs are inside one call of rayon's `install`, because each call from outside the pool allocates.

use std::sync::atomic::Ordering::SeqCst;

use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, Workspace, has_xsmm, unary_strided};
use einsum_dist::local_plan::{self, Caches};
use einsum_dist::local_plan::{Access, Body, LocalContract, OutAccess, Target, UnaryBody, plan_unary};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

use super::counting::{ALONE, OF_POOL, POOL, POOL_OF_THREAD};
use super::targets;
use crate::kernels::{contract_planned, plan};

/// Number of warm-up runs, in which threads allocate their permanent data, and number of counted runs.
const WARM: usize = 3;
const RUNS: usize = 20;

fn labels(text: &str) -> Vec<Label> {
    text.bytes().map(|b| Label(u32::from(b))).collect()
}

fn shape(text: &str, extents: &[(char, usize)]) -> Vec<usize> {
    text.chars().map(|c| extents.iter().find(|(label, _)| *label == c).unwrap().1).collect()
}

fn tensor<T: Element>(shape: &[usize]) -> ArrayD<T> {
    let mut next = 0;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        next = (next * 5 + 3) % 127;
        T::from_f64(f64::from(next) / 127.0, f64::from(next % 7))
    })
}

/// Number of allocations in the counted runs.
fn allocations(pool: &rayon::ThreadPool, mut run: impl FnMut() + Send) -> usize {
    pool.install(|| {
        (0..WARM).for_each(|_| run());
        let before = OF_POOL.load(SeqCst);
        (0..RUNS).for_each(|_| run());
        OF_POOL.load(SeqCst) - before
    })
}

/// Name of the kind of plan. The test requires that every kind occurs at least once.
fn kind(planned: &LocalContract) -> &'static str {
    match planned.body() {
        Body::Nothing => "nothing",
        Body::Scale => "scale",
        Body::Loops(_) => "loops",
        Body::Staged(_) => "copied blocks",
        Body::Products(_) => "small products",
        Body::Gemm(plan) => match (plan.access, plan.out) {
            (_, OutAccess::Buffered) => "out buffered",
            ([Access::InPlace, Access::InPlace], _) => "in place",
            _ => "operands packed",
        },
    }
}

/// The runs that allocated, and the kinds of plans that were covered.
#[derive(Default)]
struct Findings {
    faults: Vec<String>,
    kinds: Vec<&'static str>,
    runs_on_threads: usize,
}

impl Findings {
    fn contraction<T: Element>(&mut self, pool: &rayon::ThreadPool, target: &Target, case: &Contraction) {
        let Contraction { terms: [left, right, out], extents } = *case;
        let (a, b) = (tensor::<T>(&shape(left, extents)), tensor::<T>(&shape(right, extents)));
        let mut c = ArrayD::from_elem(IxDyn(&shape(out, extents)), T::ZERO);
        let names = [left, right, out].map(labels);
        let planned = plan((&names[0], &a.view()), (&names[1], &b.view()), (&names[2], &c.view()), target);
        let mut workspace = Workspace::new();
        for beta in [T::ZERO, T::from_f64(0.5, 0.0)] {
            let count = allocations(pool, || {
                contract_planned(&planned, T::ONE, a.view(), b.view(), beta, c.view_mut(), &mut workspace).unwrap();
            });
            self.note(
                count,
                || format!("{left},{right}->{out} {extents:?} beta {beta:?}: {planned:?}"),
                target,
                T::DTYPE,
            );
        }
        self.kinds.push(kind(&planned));
        if let Body::Gemm(plan) = planned.body() {
            self.runs_on_threads += usize::from(plan.grid.shares() > 1);
        }
    }

    fn unary<T: Element>(&mut self, pool: &rayon::ThreadPool, target: &Target, case: &Unary) {
        let Unary { terms: [input, out], extents } = *case;
        let a = tensor::<T>(&shape(input, extents));
        let mut c = ArrayD::from_elem(IxDyn(&shape(out, extents)), T::ZERO);
        let names = [input, out].map(labels);
        let from = local_plan::Layout::new(&names[0], a.shape(), a.strides());
        let to = local_plan::Layout::new(&names[1], c.shape(), c.strides());
        let planned = plan_unary(&from, &to, T::DTYPE, target);
        let mut workspace = Workspace::new();
        let count = allocations(pool, || {
            let (a, mut c) = (a.view(), c.view_mut());
            unary_strided(&planned, target.isa, (&a).into(), (&mut c).into(), &mut workspace).unwrap();
        });
        self.note(count, || format!("{input}->{out} {extents:?}"), target, T::DTYPE);
        self.kinds.push(match planned.body() {
            UnaryBody::Permute(_) => "permute",
            UnaryBody::Sum(_) => "sum",
            UnaryBody::Staged(_) => "staged",
        });
    }

    fn note(&mut self, count: usize, what: impl Fn() -> String, target: &Target, dtype: einsum_dist::Dtype) {
        if count > 0 {
            self.faults.push(format!("{count} in {RUNS} runs, {} {}: {}", dtype.name(), targets::name(target), what()));
        }
    }

    fn all<T: Element>(&mut self) {
        for threads in [1, 2] {
            let number = POOL.fetch_add(1, SeqCst) + 1;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.start_handler(move |_| POOL_OF_THREAD.set(number)).build().unwrap();
            // Make every thread of the pool execute once, so that its first-use allocations precede the count.
            pool.broadcast(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
            // Verify that the allocations of every thread are counted.
            assert!(pool.broadcast(|_| POOL_OF_THREAD.get()).iter().all(|&of| of == number));
            assert_eq!(allocations(&pool, || drop(std::hint::black_box(vec![0u8; 100]))), RUNS);
            for kernel in targets::kernels(T::DTYPE) {
                for caches in [Caches::default(), Caches { l1: 2 << 10, l2: 16 << 10 }] {
                    let target = Target { threads, caches, ..kernel };
                    CONTRACTIONS.iter().for_each(|case| self.contraction::<T>(&pool, &target, case));
                }
                UNARY.iter().for_each(|case| self.unary::<T>(&pool, &Target { threads, ..kernel }, case));
            }
        }
    }
}

struct Contraction {
    terms: [&'static str; 3],
    extents: &'static [(char, usize)],
}

struct Unary {
    terms: [&'static str; 2],
    extents: &'static [(char, usize)],
}

const CONTRACTIONS: [Contraction; 17] = [
    Contraction { terms: ["km", "kn", "nm"], extents: &[('m', 64), ('n', 96), ('k', 80)] },
    Contraction { terms: ["mk", "kn", "mn"], extents: &[('m', 61), ('n', 70), ('k', 130)] },
    Contraction { terms: ["mk", "nk", "nm"], extents: &[('m', 61), ('n', 70), ('k', 130)] },
    Contraction { terms: ["mk", "kn", "mn"], extents: &[('m', 150), ('n', 131), ('k', 90)] },
    Contraction { terms: ["mkc", "knc", "mnc"], extents: &[('m', 20), ('n', 12), ('k', 17), ('c', 101)] },
    Contraction { terms: ["cmk", "ckn", "cmn"], extents: &[('m', 20), ('n', 12), ('k', 17), ('c', 101)] },
    Contraction { terms: ["amkb", "nbka", "manb"], extents: &[('a', 16), ('b', 8), ('m', 9), ('n', 20), ('k', 9)] },
    Contraction {
        terms: ["abcd", "dbxy", "yaxc"],
        extents: &[('a', 8), ('b', 9), ('c', 10), ('d', 11), ('x', 6), ('y', 13)],
    },
    Contraction { terms: ["cij", "cij", "cij"], extents: &[('c', 30), ('i', 40), ('j', 60)] },
    Contraction { terms: ["cij", "cji", "ijc"], extents: &[('c', 30), ('i', 40), ('j', 60)] },
    Contraction { terms: ["mk", "k", "m"], extents: &[('m', 300), ('k', 400)] },
    Contraction { terms: ["m", "n", "mn"], extents: &[('m', 300), ('n', 400)] },
    Contraction { terms: ["k", "k", ""], extents: &[('k', 100_000)] },
    Contraction { terms: ["abcd", "badc", ""], extents: &[('a', 4), ('b', 5), ('c', 3), ('d', 6)] },
    Contraction { terms: ["mk", "kn", "mn"], extents: &[('m', 3), ('n', 4), ('k', 5)] },
    Contraction { terms: ["mk", "kn", "mn"], extents: &[('m', 300), ('n', 200), ('k', 0)] },
    Contraction { terms: ["mk", "kn", "mn"], extents: &[('m', 0), ('n', 4), ('k', 5)] },
];

const UNARY: [Unary; 9] = [
    Unary { terms: ["ab", "ba"], extents: &[('a', 300), ('b', 210)] },
    Unary { terms: ["abcd", "dcba"], extents: &[('a', 13), ('b', 14), ('c', 15), ('d', 16)] },
    Unary { terms: ["abcd", "abdc"], extents: &[('a', 13), ('b', 14), ('c', 15), ('d', 16)] },
    Unary { terms: ["aab", "ba"], extents: &[('a', 40), ('b', 50)] },
    Unary { terms: ["ab", "a"], extents: &[('a', 300), ('b', 210)] },
    Unary { terms: ["ab", "a"], extents: &[('a', 30_000), ('b', 3)] },
    Unary { terms: ["ab", "b"], extents: &[('a', 300), ('b', 210)] },
    Unary { terms: ["ab", ""], extents: &[('a', 300), ('b', 210)] },
    Unary { terms: ["abcd", "ca"], extents: &[('a', 13), ('b', 14), ('c', 15), ('d', 16)] },
];

#[test]
fn repeated_runs_allocate_nothing() {
    let _alone = ALONE.lock();
    let mut findings = Findings::default();
    findings.all::<f32>();
    findings.all::<f64>();
    findings.all::<Complex<f32>>();
    findings.all::<Complex<f64>>();
    for kind in ["nothing", "scale", "loops", "in place", "operands packed", "out buffered", "permute", "sum", "staged"]
    {
        assert!(findings.kinds.contains(&kind), "no case was planned as {kind}");
    }
    assert!(findings.kinds.contains(&"small products") || !has_xsmm(), "no case was left to LIBXSMM as a whole");
    assert!(findings.runs_on_threads > 0, "no product was shared by threads");
    findings.faults.sort();
    assert!(findings.faults.is_empty(), "{} cases allocate:\n{}", findings.faults.len(), findings.faults.join("\n"));
}
