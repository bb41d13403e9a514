//! Random contractions and their check against the reference, shared by tests.

use einsum_dist::dims::Label;
use einsum_dist::kernel::{Checked, error_bound, reference};
use einsum_dist::plan::AlgorithmName;
use einsum_dist::{DistTensor, Element, Machine, Options, Plan, Problem, World};
use ndarray::{ArrayD, ArrayViewD};

/// A small generator: SplitMix64.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// A binary contraction with extents.
#[derive(Debug, Clone)]
pub struct Case {
    pub left: Vec<usize>,
    pub right: Vec<usize>,
    pub out: Vec<usize>,
    pub extents: Vec<usize>,
    pub f64: bool,
}

impl Case {
    /// 0 to 3 dimensions per kind, extents 0 to 64, an index space of at most 2^22.
    pub fn random(rng: &mut Rng) -> Case {
        let counts = [rng.below(3), rng.below(4), rng.below(4), rng.below(4)];
        let (mut left, mut right, mut out, mut extents) = (vec![], vec![], vec![], vec![]);
        let mut space = 1usize;
        // Small index spaces often, so that the reference stays quick.
        let largest = 1usize << (8 + rng.below(15));
        for (kind, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                let most = (largest / space.max(1)).clamp(1, 64);
                // Small extents often, large ones sometimes, 0 rarely.
                let extent = match rng.below(24) {
                    0 => 0,
                    1..=14 => 1 + rng.below(8.min(most)),
                    _ => 1 + rng.below(most),
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
        Case { left, right, out, extents, f64: rng.below(2) == 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    pub fn shape(&self, labels: &[usize]) -> Vec<usize> {
        labels.iter().map(|&label| self.extents[label]).collect()
    }

    pub fn expression(&self) -> String {
        let term = |labels: &[usize]| labels.iter().map(|&l| char::from(b'a' + l as u8)).collect::<String>();
        format!("{},{}->{}", term(&self.left), term(&self.right), term(&self.out))
    }

    /// Plans with a forced algorithm; `None` where it does not apply.
    pub fn plan(&self, ranks: usize, algorithm: Option<AlgorithmName>) -> Option<Plan> {
        let dtype = if self.f64 { einsum_dist::Dtype::Float64 } else { einsum_dist::Dtype::Float32 };
        let options = Options { dtype, algorithm, ..Options::default() };
        let shaped =
            Problem::parse(&self.expression()).unwrap().shapes(&[self.shape(&self.left), self.shape(&self.right)]);
        shaped.unwrap().plan(&Machine::new(ranks, 1), &options).ok()
    }

    /// Runs on in-process ranks and compares; false where the algorithm does not apply.
    pub fn check(&self, seed: usize, ranks: usize, algorithm: Option<AlgorithmName>, accumulate: bool) -> bool {
        let Some(plan) = self.plan(ranks, algorithm) else { return false };
        let world = World::in_process(ranks);
        if self.f64 {
            self.check_as::<f64>(&world, &plan, seed as u64, accumulate);
        } else {
            self.check_as::<f32>(&world, &plan, seed as u64, accumulate);
        }
        true
    }

    /// Runs a plan on a world in both ways, and compares result and bytes.
    pub fn check_as<T: Element>(&self, world: &World, plan: &Plan, seed: u64, accumulate: bool) {
        let what = || format!("{} {:?} on {}\n{}", self.expression(), self.extents, plan.ranks(), plan.explain());
        plan.verify().unwrap_or_else(|error| panic!("{error}: {}", what()));
        let whole = |labels: &[usize], operand| -> ArrayD<T> {
            let alone = World::single();
            let single = einsum_dist::dist::Distribution::single();
            let tensor = DistTensor::random(&alone, &self.shape(labels), &single, seed, operand);
            tensor.blocks().next().unwrap().1.to_owned()
        };
        let (left, right, prior) = (whole(&self.left, 0), whole(&self.right, 1), whole(&self.out, 2));
        let (alpha, beta) = (T::from_f64(1.5, 0.0), T::from_f64(if accumulate { -0.5 } else { 0.0 }, 0.0));

        let mut program = world.compile::<T>(plan).unwrap();
        let mut out = prior.clone();
        program.run_into(alpha, &[&left, &right], beta, &mut out).unwrap_or_else(|e| panic!("{e}: {}", what()));
        let want = self.reference(&left, &right);
        compare(&want, &prior, &out.view(), alpha, beta, &what);

        let place = |index: usize, values: &ArrayD<T>| {
            let value = plan.operand(index);
            let mut tensor = DistTensor::zeros(world, &value.shape, &value.distribution);
            tensor.assign(values.view());
            tensor
        };
        let (dl, dr) = (place(0, &left), place(1, &right));
        let mut dist = DistTensor::zeros(world, &plan.output().shape, &plan.output().distribution);
        dist.assign(prior.view());
        for _ in 0..2 {
            program.run_dist(alpha, &[&dl, &dr], T::ZERO, &mut dist).unwrap();
        }
        let again = dist.gather(world).unwrap();
        compare(&want, &prior, &again.view(), alpha, T::ZERO, &what);
        for (rank, measured) in program.measured().unwrap().iter().enumerate() {
            let planned = plan.schedule(rank).bytes_received(None);
            assert_eq!(measured.received.iter().sum::<u64>(), planned, "rank {rank}: {}", what());
        }
    }

    fn reference<T: Element>(&self, left: &ArrayD<T>, right: &ArrayD<T>) -> ArrayD<Checked> {
        let labels = |list: &[usize]| list.iter().map(|&l| Label(l as u32)).collect::<Vec<_>>();
        let (l, r, o) = (labels(&self.left), labels(&self.right), labels(&self.out));
        let mut want = ArrayD::from_elem(self.shape(&self.out), Checked::default());
        reference(&[(&l, left.view()), (&r, right.view())], (&o, want.view_mut()));
        want
    }
}

fn compare<T: Element>(
    want: &ArrayD<Checked>,
    prior: &ArrayD<T>,
    out: &ArrayViewD<T>,
    alpha: T,
    beta: T,
    what: &dyn Fn() -> String,
) {
    for ((want, got), prior) in want.iter().zip(out).zip(prior) {
        let before = beta.to_c64() * prior.to_c64();
        let expected = alpha.to_c64() * want.value + before;
        let magnitude = alpha.to_c64().norm() * want.magnitude + before.norm();
        let bound = error_bound(T::DTYPE, want.terms + 1, 3) * magnitude;
        let error = (got.to_c64() - expected).norm();
        assert!(error <= bound, "error {error} beyond {bound}: {}", what());
    }
}
