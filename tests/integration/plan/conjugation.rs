//! Tests that a plan with conjugated operands computes what a plan without them computes from conjugated arrays, for
//! every algorithm, number of ranks and kernel, and with slices, pipelines, constant operands and prescribed
//! distributions. Every plan is first written as JSON and read again.

use einsum_dist::kernel::{available, has_xsmm};
use einsum_dist::local_plan::Isa;
use einsum_dist::plan::{AlgorithmName, KernelChoice, PipelineChoice, Value};
use einsum_dist::schedule::verify::{self, Fault};
use einsum_dist::{
    DistTensor, Dtype, Element, Machine, Operand, Plan, PlanOptions, Problem, Program, World, error_bound,
};
use ndarray::ArrayD;
use num_complex::Complex;

use crate::common::{Case, Rng, random};

const CASES: usize = 600;

/// Expressions whose conjugated operands meet unary steps, redistributions, several contractions, or no contraction.
const EXPRESSIONS: [(&str, &[&[usize]]); 10] = [
    ("ij->ji", &[&[5, 7]]),
    ("iij->j", &[&[4, 4, 6]]),
    ("ijk->", &[&[3, 4, 5]]),
    ("ij,jk->ik", &[&[70, 65], &[65, 80]]),
    ("ij,jk->k", &[&[9, 13], &[13, 11]]),
    ("iij,jk->ik", &[&[6, 6, 8], &[8, 10]]),
    ("ij,jk,kl->li", &[&[7, 12], &[12, 9], &[9, 5]]),
    ("[ij->j],[jk,kl->jl]->l", &[&[5, 8], &[8, 6], &[6, 7]]),
    ("i,i->", &[&[1000], &[1000]]),
    ("bij,bjk->bik", &[&[40, 3, 4], &[40, 4, 5]]),
];

/// A plan with flags, the plan for conjugated arrays, and the factors of a run.
struct Pair<T: Element> {
    conjugate: Vec<usize>,
    marked: Plan,
    plain: Plan,
    alpha: T,
    beta: T,
    what: String,
}

impl<T: Element> Pair<T> {
    /// Returns `None` if the algorithm or the pipeline is not applicable.
    fn new(
        rng: &mut Rng,
        expression: &str,
        shapes: &[Vec<usize>],
        ranks: usize,
        options: &PlanOptions,
    ) -> Option<Pair<T>> {
        let conjugate: Vec<usize> = (0..shapes.len()).filter(|_| rng.one_in(2)).collect();
        let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
        let accumulate = rng.one_in(2);
        let options = options.clone().dtype(T::DTYPE).accumulate(accumulate);
        let plan = |options: &PlanOptions| shaped.plan(&Machine::new(ranks, 2), options);
        let plain = plan(&options).ok()?;
        let marked = plan(&options.clone().conjugate(conjugate.clone())).unwrap();
        let marked: Plan = serde_json::from_str(&serde_json::to_string(&marked).unwrap()).unwrap();
        marked.verify().unwrap();
        assert_eq!(marked.fingerprint() == plain.fingerprint(), conjugate.is_empty() || !T::DTYPE.is_complex());
        let beta = if accumulate { T::from_f64(-1.0, 0.25) } else { T::ZERO };
        let what = format!("{expression} {shapes:?} conjugates {conjugate:?} on {ranks} ranks, {options:?}");
        Some(Pair { conjugate, marked, plain, alpha: T::from_f64(0.5, 2.0), beta, what })
    }

    fn operands(&self, seed: u64) -> Vec<ArrayD<T>> {
        (0..self.marked.operands).map(|i| random(&self.marked.operand_shape(i), seed, i as u32)).collect()
    }

    fn conjugated(&self, arrays: &[ArrayD<T>]) -> Vec<ArrayD<T>> {
        let flag = |i| self.conjugate.contains(&i);
        arrays.iter().enumerate().map(|(i, a)| if flag(i) { a.mapv(T::conjugate) } else { a.clone() }).collect()
    }

    fn run(&self, program: &mut Program<T>, arrays: &[ArrayD<T>], out: &mut ArrayD<T>) {
        let operands: Vec<&dyn Operand<T>> = arrays.iter().map(|array| array as _).collect();
        program.run_into(self.alpha, &operands, self.beta, out).unwrap();
    }

    /// Runs on blocks that every rank has of its own.
    fn run_dist(&self, world: &World, program: &mut Program<T>, arrays: &[ArrayD<T>], out: &mut ArrayD<T>) {
        let on_ranks = |value: &Value, shape: &[usize], array: &ArrayD<T>| {
            let mut tensor = DistTensor::zeros(world, shape, &value.distribution);
            tensor.assign(array.view());
            tensor
        };
        let tensors: Vec<DistTensor<T>> = arrays
            .iter()
            .enumerate()
            .map(|(i, array)| on_ranks(self.marked.operand(i), array.shape(), array))
            .collect();
        let mut result = on_ranks(self.marked.output(), out.shape(), out);
        program.run_dist(self.alpha, &tensors.iter().collect::<Vec<_>>(), self.beta, &mut result).unwrap();
        *out = result.gather(world).unwrap();
    }

    /// Every product is at most 2 in size for each two operands, because both parts of an element are at most 1.
    fn assert_close(&self, got: &ArrayD<T>, want: &ArrayD<T>) {
        let space: f64 = self.plain.extents.iter().map(|&extent| extent as f64).product::<f64>();
        let terms = space * self.plain.slice_count() as f64 / want.len().max(1) as f64;
        let scale = terms.max(1.0) * 2f64.powf(self.marked.operands as f64 / 2.0) * 2.1 + 1.5;
        let bound = 2.0 * error_bound(T::DTYPE, self.plain.roundings() + 2, self.marked.operands as u32 + 2) * scale;
        assert_eq!(got.shape(), want.shape());
        let error = got.iter().zip(want).map(|(a, b)| (a.to_c64() - b.to_c64()).norm()).fold(0.0, f64::max);
        assert!(error <= bound, "error {error:e}, bound {bound:e}: {}", self.what);
    }

    /// Runs both plans with changing operands, where constant operands change before `renew`. Returns false if the
    /// kernel is not applicable.
    fn agree(&self, rng: &mut Rng) -> bool {
        let ranks = self.marked.ranks();
        let world = if ranks == 1 { World::single() } else { World::in_process(ranks) };
        let (Ok(mut program), Ok(mut expected)) = (world.compile(&self.marked), world.compile(&self.plain)) else {
            return false;
        };
        let mut arrays = self.operands(rng.next());
        let initial: ArrayD<T> = random(&self.plain.output_shape(), rng.next(), 99);
        let (mut got, mut want) = (initial.clone(), initial);
        for renew in [false, false, true] {
            let next = self.operands(rng.next());
            for (i, array) in next.into_iter().enumerate() {
                if renew || !self.marked.constant.contains(&i) {
                    arrays[i] = array;
                }
            }
            if renew {
                program.renew();
                expected.renew();
            }
            let initial = got.clone();
            self.run(&mut expected, &self.conjugated(&arrays), &mut want);
            self.run(&mut program, &arrays, &mut got);
            self.assert_close(&got, &want);
            if self.marked.part_count() == 1 {
                let mut by_blocks = initial;
                self.run_dist(&world, &mut program, &arrays, &mut by_blocks);
                self.assert_close(&by_blocks, &want);
            }
            got.assign(&want);
        }
        true
    }
}

/// Returns false if the algorithm, the pipeline or the kernel is not applicable.
fn check<T: Element>(
    rng: &mut Rng,
    expression: &str,
    shapes: &[Vec<usize>],
    ranks: usize,
    options: &PlanOptions,
) -> bool {
    Pair::<T>::new(rng, expression, shapes, ranks, options).is_some_and(|pair| pair.agree(rng))
}

fn check_type(rng: &mut Rng, expression: &str, shapes: &[Vec<usize>], ranks: usize, options: &PlanOptions) -> bool {
    match rng.below(5) {
        0 => check::<f64>(rng, expression, shapes, ranks, options),
        1 | 2 => check::<Complex<f32>>(rng, expression, shapes, ranks, options),
        _ => check::<Complex<f64>>(rng, expression, shapes, ranks, options),
    }
}

#[test]
fn random_contractions_with_conjugated_operands() {
    let mut rng = Rng::new(11);
    let mut ran = 0;
    for _ in 0..CASES {
        let case = Case::random(&mut rng);
        let ranks = 1 + rng.below(8);
        let algorithm = AlgorithmName::ALL[rng.below(AlgorithmName::ALL.len())];
        let options = PlanOptions::default().algorithm(if ranks == 1 { None } else { Some(algorithm) });
        let shapes = [case.shape(&case.left), case.shape(&case.right)];
        ran += usize::from(check_type(&mut rng, &case.expression(), &shapes, ranks, &options));
    }
    assert!(ran > CASES / 3, "{ran} of {CASES} cases ran");
}

#[test]
fn trees_and_unary_steps_with_conjugated_operands() {
    let mut rng = Rng::new(12);
    for (expression, shapes) in EXPRESSIONS {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        for ranks in [1, 2, 3, 4] {
            for _ in 0..4 {
                let constant = (0..shapes.len()).filter(|_| rng.one_in(2)).collect();
                assert!(check_type(&mut rng, expression, &shapes, ranks, &PlanOptions::default().constant(constant)));
            }
        }
    }
}

#[test]
fn every_kernel_conjugates() {
    let mut rng = Rng::new(13);
    for kernel in KernelChoice::ALL {
        let options = PlanOptions::default().kernel(kernel);
        let mut ran = 0;
        for (expression, shapes) in EXPRESSIONS {
            let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
            for _ in 0..4 {
                ran += usize::from(check_type(&mut rng, expression, &shapes, 1, &options));
            }
        }
        for _ in 0..40 {
            let case = Case::random(&mut rng);
            let shapes = [case.shape(&case.left), case.shape(&case.right)];
            ran += usize::from(check_type(&mut rng, &case.expression(), &shapes, 1, &options));
        }
        let all = 40 + 4 * EXPRESSIONS.len();
        let least = match kernel {
            KernelChoice::Auto | KernelChoice::Portable | KernelChoice::Reference => all,
            KernelChoice::Avx2 => all * usize::from(available(Isa::Avx2)),
            KernelChoice::Avx512 => all * usize::from(available(Isa::Avx512)),
            KernelChoice::Neon => all * usize::from(available(Isa::Neon)),
            // LIBXSMM has no kernels for complex numbers.
            KernelChoice::Xsmm => usize::from(has_xsmm()),
        };
        assert!(ran >= least, "{ran} with {kernel:?}");
    }
}

#[test]
fn slices_with_conjugated_operands() {
    let mut rng = Rng::new(14);
    let expression = "[[[ab,bf->abf],b->af],fg->ag],[gd,de->ge]->ae";
    let shapes = [vec![12, 24], vec![24, 18], vec![24], vec![18, 6], vec![6, 16], vec![16, 8]];
    for ranks in [1, 2, 3] {
        for constant in [vec![], vec![4, 5]] {
            let mut options = PlanOptions::default().constant(constant);
            let pair = loop {
                let pair = Pair::<Complex<f64>>::new(&mut rng, expression, &shapes, ranks, &options).unwrap();
                if pair.marked.slice_count() > 1 {
                    break pair;
                }
                let peak = pair.marked.report(None).peak_bytes.planned;
                options = options.memory_limit(Some(peak * 2 / 3)).in_parts(ranks == 2);
            };
            assert!(pair.agree(&mut rng));
        }
    }
}

#[test]
fn pipelines_with_conjugated_operands() {
    let mut rng = Rng::new(15);
    let expression = "[[cbi,cij->cbj],cjk->cbk],ckl->cbl";
    let shapes = [vec![3, 20, 24], vec![3, 24, 18], vec![3, 18, 7], vec![3, 7, 10]];
    for (ranks, batches, groups) in [(2, 5, 2), (3, 4, 3), (5, 7, 2)] {
        for constant in [vec![], vec![1], vec![0, 1, 2]] {
            let options = PlanOptions::default().pipeline(PipelineChoice::Of { batches, groups }).constant(constant);
            let pair = Pair::<Complex<f64>>::new(&mut rng, expression, &shapes, ranks, &options).unwrap();
            assert!(pair.marked.pipeline.is_some() && pair.agree(&mut rng));
        }
    }
}

#[test]
fn prescribed_distributions_with_conjugated_operands() {
    let mut rng = Rng::new(16);
    for _ in 0..60 {
        let case = Case::random(&mut rng);
        let ranks = 2 + rng.below(5);
        let fixed = case.random_distributions(&mut rng, ranks);
        let shapes = [case.shape(&case.left), case.shape(&case.right)];
        assert!(check_type(&mut rng, &case.expression(), &shapes, ranks, &PlanOptions::default().fixed(fixed)));
    }
}

/// A schedule that conjugates another operand than the plan says is refused.
#[test]
fn a_schedule_with_other_flags_is_refused() {
    let shaped = Problem::parse("ij,jk->ik").unwrap().shapes(&[vec![6, 7], vec![7, 8]]).unwrap();
    let options = PlanOptions::default().dtype(Dtype::Complex64).conjugate(vec![1]);
    let plan = shaped.plan(&Machine::new(2, 1), &options).unwrap();
    let mut schedule = plan.schedule(0);
    verify::own(schedule.clone(), &plan.spec()).unwrap();
    for flags in [vec![], vec![0], vec![0, 1]] {
        schedule.conjugated = flags;
        let error = verify::own(schedule.clone(), &plan.spec()).unwrap_err();
        assert!(matches!(error.fault, Fault::Conjugation(_)), "{error}");
    }
}
