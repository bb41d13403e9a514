//! Generates random contractions and compares their results with the reference. Shared by several test programs.
#![allow(dead_code, unused_imports, reason = "every test binary uses a part")]

mod delays;
mod grids;
pub mod kernels;
mod large;
mod random_distributions;
mod rng;
pub mod special;
mod trees;

pub use delays::{batched, same_bits};
pub use grids::{on_another_grid, on_grid};
pub use large::large_file;
pub use rng::Rng;
pub use trees::{Network, trees};

use std::fmt;
use std::ops::Range;

use einsum_dist::algorithm::Reorder;
use einsum_dist::dims::Label;
use einsum_dist::distribution::Distribution;
use einsum_dist::kernel::{Reference, ReferenceValue, error_bound};
use einsum_dist::memory::bytes_of;
use einsum_dist::plan::{AlgorithmName, FixedDistributions};
use einsum_dist::{DistTensor, Dtype, Element, Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::ArrayD;
use rayon::prelude::*;

/// A binary contraction with extents.
#[derive(Debug, Clone)]
pub struct Case {
    pub left: Vec<usize>,
    pub right: Vec<usize>,
    pub out: Vec<usize>,
    pub names: Vec<String>,
    pub extents: Vec<usize>,
    pub f64: bool,
}

impl Case {
    /// A random contraction with 0 to 3 dimensions per kind, extents 0 to 64, and an index space of at most 2^22.
    pub fn random(rng: &mut Rng) -> Case {
        let counts = [0; 4].map(|_| rng.below(4));
        let (mut left, mut right, mut out, mut extents) = (vec![], vec![], vec![], vec![]);
        let mut space = 1usize;
        // Most index spaces are small, so that the reference is fast. 1 in 128 cases may have the largest index space.
        let largest = if rng.below(128) == 0 { 1 << 22 } else { 1usize << (8 + rng.below(9)) };
        let small = if largest == 1 << 22 { 1 } else { 14 };
        for (kind, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                let max_extent = (largest / space.max(1)).clamp(1, 64);
                // 1 in 96 extents is 0. Many of the nonzero extents are small.
                let extent = match rng.below(96) {
                    0 => 0,
                    at if at % 24 <= small => 1 + rng.below(8.min(max_extent)),
                    _ => 1 + rng.below(max_extent),
                };
                space *= extent.max(1);
                let label = extents.len();
                extents.push(extent);
                let places: [bool; 3] =
                    [[true, true, true], [true, false, true], [false, true, true], [true, true, false]][kind];
                for (place, list) in places.into_iter().zip([&mut left, &mut right, &mut out]) {
                    if place {
                        list.push(label);
                    }
                }
            }
        }
        [&mut left, &mut right, &mut out].into_iter().for_each(|list| rng.shuffle(list));
        let names = (b'a'..=b'z').take(extents.len()).map(|letter| char::from(letter).to_string()).collect();
        Case { left, right, out, names, extents, f64: rng.below(2) == 0 }
    }

    /// The contraction that an expression describes, with the given shapes.
    pub fn of(expression: &str, shapes: [&[usize]; 2], f64: bool) -> Case {
        let shaped = Problem::parse(expression).unwrap().shapes(&shapes.map(<[usize]>::to_vec)).unwrap();
        let tree = shaped.tree(&Machine::default(), &PlanOptions::default()).unwrap();
        let [left, right, out] = [0, 1, tree.root()].map(|node| {
            let labels = tree.nodes[node].labels.iter();
            labels.map(|label| label.0 as usize).collect()
        });
        Case { left, right, out, names: tree.names.clone(), extents: tree.extents.clone(), f64 }
    }

    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// Number of multiply-adds.
    pub fn space(&self) -> usize {
        self.extents.iter().product()
    }

    pub fn shape(&self, labels: &[usize]) -> Vec<usize> {
        labels.iter().map(|&label| self.extents[label]).collect()
    }

    pub fn expression(&self) -> String {
        let term = |labels: &[usize]| {
            let names: Vec<&str> = labels.iter().map(|&label| self.names[label].as_str()).collect();
            if self.names.iter().any(|name| name.len() > 1) { format!("[{}]", names.join(",")) } else { names.concat() }
        };
        format!("{},{}->{}", term(&self.left), term(&self.right), term(&self.out))
    }

    /// Plans with a forced algorithm. Returns `None` if the algorithm does not apply.
    pub fn plan(&self, ranks: usize, algorithm: AlgorithmName) -> Option<Plan> {
        self.plan_cut(ranks, algorithm, &[])
    }

    /// Plans with a forced algorithm and forced dimensions to cut. Returns `None` if these do not apply.
    pub fn plan_cut(&self, ranks: usize, algorithm: AlgorithmName, cut: &[&str]) -> Option<Plan> {
        let dtype = if self.f64 { Dtype::Float64 } else { Dtype::Float32 };
        let cut = cut.iter().map(|name| (*name).to_owned()).collect();
        let options = PlanOptions::default().dtype(dtype).algorithm(algorithm).cut(cut);
        let shaped =
            Problem::parse(&self.expression()).unwrap().shapes(&[self.shape(&self.left), self.shape(&self.right)]);
        shaped.unwrap().plan(&Machine::new(ranks, 1), &options).ok()
    }

    /// Plans with a forced algorithm for tensors with prescribed distributions. Returns `None` if the algorithm does
    /// not apply.
    pub fn plan_fixed(
        &self,
        ranks: usize,
        algorithm: AlgorithmName,
        fixed: &FixedDistributions,
        accumulate: bool,
    ) -> Option<Plan> {
        let dtype = if self.f64 { Dtype::Float64 } else { Dtype::Float32 };
        let fixed = fixed.clone();
        // These options are derived from the extents, so they vary between cases but are always the same for a given
        // case.
        let number = self.extents.iter().sum::<usize>();
        let (reorder, idle) = (Reorder::ALL[number % Reorder::ALL.len()], number % 3 > 0);
        let options = PlanOptions::default()
            .dtype(dtype)
            .algorithm(algorithm)
            .fixed(fixed)
            .accumulate(accumulate)
            .reorder(reorder)
            .idle(idle);
        let speeds = (0..ranks).map(|rank| 1.0 + 0.3 * rank as f64).filter(|_| number.is_multiple_of(2)).collect();
        let machine = Machine { speeds, ..Machine::new(ranks, 1) };
        let shapes = [self.shape(&self.left), self.shape(&self.right)];
        Problem::parse(&self.expression()).unwrap().shapes(&shapes).unwrap().plan(&machine, &options).ok()
    }

    /// Verifies a plan, runs it on arrays and on distributed tensors, and compares results and transferred bytes with
    /// the expected ones.
    pub fn check(&self, world: &World, plan: &Plan, seed: u64, accumulate: bool) {
        self.verify(plan);
        self.run_on(std::slice::from_ref(world), plan, seed, accumulate);
    }

    pub fn verify(&self, plan: &Plan) {
        plan.verify().unwrap_or_else(|error| panic!("{error}: {}", self.describe(plan)));
    }

    /// Runs and compares in the same way as [`Case::check`] on each of these worlds, which have the same number of ranks
    /// and different transports. The expected values are computed once. Collective.
    pub fn run_on(&self, worlds: &[World], plan: &Plan, seed: u64, accumulate: bool) {
        if self.f64 {
            self.run_as::<f64>(worlds, plan, seed, accumulate);
        } else {
            self.run_as::<f32>(worlds, plan, seed, accumulate);
        }
    }

    fn run_as<T: Element>(&self, worlds: &[World], plan: &Plan, seed: u64, accumulate: bool) {
        let whole = |labels: &[usize], operand| random::<T>(&self.shape(labels), seed, operand);
        let values =
            TestValues { left: whole(&self.left, 0), right: whole(&self.right, 1), prior: whole(&self.out, 2) };
        let want = self.wanted(&worlds[0], &values.left, &values.right);
        for world in worlds {
            self.run_and_compare(world, plan, accumulate, &values, &want);
        }
    }

    fn describe(&self, plan: &Plan) -> String {
        format!("{} {:?} on {}\n{}", self.expression(), self.extents, plan.ranks(), plan.explain())
    }

    fn run_and_compare<T: Element>(
        &self,
        world: &World,
        plan: &Plan,
        accumulate: bool,
        values: &TestValues<T>,
        want: &ExpectedElements,
    ) {
        let what = || self.describe(plan);
        let TestValues { left, right, prior } = values;
        let (alpha, beta) = (T::from_f64(1.5, 0.0), T::from_f64(if accumulate { -0.5 } else { 0.0 }, 0.0));

        let mut program = world.compile::<T>(plan).unwrap();
        // Each process compares the bytes of its own ranks.
        let ranks = world.local_ranks();
        let received: Vec<u64> = ranks.clone().map(|rank| plan.schedule(rank).bytes_received()).collect();
        let bytes = |program: &einsum_dist::Program<T>| {
            let measured = program.measured().unwrap();
            for (rank, &planned) in ranks.clone().zip(&received) {
                assert_eq!(measured[rank].received.iter().sum::<u64>(), planned, "rank {rank}: {}", what());
            }
        };
        let mut out = prior.clone();
        program.run_into(alpha, &[left, right], beta, &mut out).unwrap_or_else(|e| panic!("{e}: {}", what()));
        compare(world, want, prior, &out, alpha, beta, &what);
        bytes(&program);

        let place = |tensor: (&[usize], &Distribution), values: &ArrayD<T>| {
            let mut tensor = DistTensor::zeros(world, tensor.0, tensor.1);
            tensor.assign(values.view());
            tensor
        };
        let [dl, dr] = [(0, left), (1, right)].map(|(index, values)| {
            let value = plan.operand(index);
            place((&value.shape, &value.distribution), values)
        });
        let mut dist = place((&plan.output().shape, &plan.output().distribution), prior);
        for _ in 0..2 {
            program.run_dist(alpha, &[&dl, &dr], T::ZERO, &mut dist).unwrap_or_else(|e| panic!("{e}: {}", what()));
            bytes(&program);
        }
        let again = dist.gather(world).unwrap();
        compare(world, want, prior, &again, alpha, T::ZERO, &what);
    }

    /// Expected values for this process's share of the result's elements.
    fn wanted<T: Element>(&self, world: &World, left: &ArrayD<T>, right: &ArrayD<T>) -> ExpectedElements {
        let shape = self.shape(&self.out);
        let elements: usize = shape.iter().product();
        let (mine, ranks) = (world.local_ranks(), world.ranks());
        let share = elements * mine.start / ranks..elements * mine.end / ranks;
        if self.space() > 1 << 24 {
            return ExpectedElements { elements: product(&share, left, right), share };
        }
        let labels = |list: &[usize]| list.iter().map(|&l| Label(l as u32)).collect::<Vec<_>>();
        let (l, r, o) = (labels(&self.left), labels(&self.right), labels(&self.out));
        let operands: [(&[Label], _); 2] = [(&l, left.view()), (&r, right.view())];
        let reference = Reference::new(&operands, &o);
        let element = |at: usize| reference.element(&index(&shape, at));
        ExpectedElements { elements: share.clone().into_par_iter().map(element).collect(), share }
    }
}

/// An undistributed tensor with random values.
pub fn random<T: Element>(shape: &[usize], seed: u64, operand: u32) -> ArrayD<T> {
    let tensor = DistTensor::random(&World::single(), shape, &Distribution::single(), seed, operand);
    tensor.blocks().next().unwrap().1.to_owned()
}

/// The multi-index of the element at position `at` in row-major order.
fn index(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut index: Vec<usize> = shape.iter().rev().map(|&extent| (at % extent, at /= extent).0).collect();
    index.reverse();
    index
}

/// The tensors of one check. Every rank stores the complete tensors.
struct TestValues<T> {
    left: ArrayD<T>,
    right: ArrayD<T>,
    /// The result's values before the run.
    prior: ArrayD<T>,
}

/// Expected values of a contiguous range of elements in row-major order.
struct ExpectedElements {
    share: Range<usize>,
    elements: Vec<ReferenceValue>,
}

/// Expected values of `mk,kn->mn` in double precision, for products so large that the reference would take minutes.
fn product<T: Element>(share: &Range<usize>, left: &ArrayD<T>, right: &ArrayD<T>) -> Vec<ReferenceValue> {
    let [k, n] = right.shape() else { panic!("only a plain matrix product is this large") };
    let rows = share.start / n..share.end.div_ceil(*n);
    let [values, magnitudes] = [|x: f64| x, f64::abs].map(|f| {
        let matrix =
            |array: &ArrayD<T>| array.mapv(|x| f(x.to_c64().re)).into_dimensionality::<ndarray::Ix2>().unwrap();
        matrix(left).slice(ndarray::s![rows.clone(), ..]).dot(&matrix(right))
    });
    let element = |at: usize| {
        let at = [at / n - rows.start, at % n];
        ReferenceValue { value: values[at].into(), magnitude: magnitudes[at], terms: *k as u64 }
    };
    share.clone().map(element).collect()
}

/// Compares a result, which every rank stores completely, with its expected values. All ranks must store the same bits.
fn compare<T: Element>(
    world: &World,
    want: &ExpectedElements,
    prior: &ArrayD<T>,
    out: &ArrayD<T>,
    alpha: T,
    beta: T,
    what: &dyn Fn() -> String,
) {
    let (out, prior): (Vec<T>, Vec<T>) = out.iter().copied().zip(prior.iter().copied()).unzip();
    for (at, want) in want.share.clone().zip(&want.elements) {
        let before = beta.to_c64() * prior[at].to_c64();
        let expected = alpha.to_c64() * want.value + before;
        let magnitude = alpha.to_c64().norm() * want.magnitude + before.norm();
        let bound = error_bound(T::DTYPE, want.terms + 1, 3) * magnitude;
        let error = (out[at].to_c64() - expected).norm();
        assert!(error <= bound, "element {at}: error {error} beyond {bound}: {}", what());
    }
    let hash = xxhash_rust::xxh3::xxh3_64(bytes_of(&out)).to_le_bytes();
    let same = world.all_gather(&hash).unwrap().iter().all(|other| other[..] == hash);
    assert!(same, "ranks have different results: {}", what());
}

/// Chooses for each case the applicable algorithm with the fewest non-empty cases so far. The caller decides which
/// cases count as non-empty.
#[derive(Default)]
pub struct Balance {
    /// Number of cases, and number of non-empty cases, for each algorithm.
    pub ran: [usize; AlgorithmName::ALL.len()],
    pub filled: [usize; AlgorithmName::ALL.len()],
}

impl Balance {
    /// Plans a case with the applicable algorithm of `among` that has the fewest non-empty cases. Increments this
    /// algorithm's number of cases and, if `counts` is true, its number of non-empty cases.
    pub fn plan(
        &mut self,
        among: &[AlgorithmName],
        counts: bool,
        plan: impl Fn(AlgorithmName) -> Option<Plan>,
    ) -> Option<Plan> {
        let place = |of: &AlgorithmName| AlgorithmName::ALL.iter().position(|name| name == of).unwrap();
        let mut order = among.to_vec();
        order.sort_by_key(|algorithm| self.filled[place(algorithm)]);
        let (algorithm, plan) = order.into_iter().find_map(|algorithm| Some((algorithm, plan(algorithm)?)))?;
        self.ran[place(&algorithm)] += 1;
        self.filled[place(&algorithm)] += usize::from(counts);
        Some(plan)
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((algorithm, ran), filled) in AlgorithmName::ALL.iter().zip(self.ran).zip(self.filled) {
            write!(f, "{} {ran} cases, {filled} not empty; ", algorithm.name())?;
        }
        Ok(())
    }
}

/// Runs a plan on in-process ranks. Every rank must receive the planned number of bytes.
pub fn run(plan: &Plan, operands: &[ArrayD<f64>]) -> ArrayD<f64> {
    let operands: Vec<&dyn Operand<f64>> = operands.iter().map(|array| array as &dyn Operand<f64>).collect();
    let mut program = World::in_process(plan.ranks()).compile::<f64>(plan).unwrap();
    let result = program.run(&operands).unwrap();
    for (rank, measured) in program.measured().unwrap().iter().enumerate() {
        assert_eq!(measured.received.iter().sum::<u64>(), plan.schedule(rank).bytes_received(), "rank {rank}");
    }
    result
}
