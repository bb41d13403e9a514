//! Tests that a plan with conjugated operands computes what a plan without them computes from conjugated arrays, for
//! every algorithm, number of ranks and kernel.

use einsum_dist::plan::{AlgorithmName, KernelChoice};
use einsum_dist::schedule::verify::{self, Fault};
use einsum_dist::{Dtype, Element, Machine, PlanOptions, Problem, World};
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

fn close<T: Element>(a: &ArrayD<T>, b: &ArrayD<T>, scale: f64) -> bool {
    let epsilon = if matches!(T::DTYPE, Dtype::Complex64 | Dtype::Float32) { 1e-5 } else { 1e-13 };
    a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| (a.to_c64() - b.to_c64()).norm() <= epsilon * scale.max(1.0))
}

/// Runs an expression twice: with `conjugate` as an option, and with conjugated arrays. Returns false if the algorithm or
/// the kernel is not applicable.
fn check<T: Element>(
    rng: &mut Rng,
    expression: &str,
    shapes: &[Vec<usize>],
    ranks: usize,
    options: &PlanOptions,
) -> bool {
    let conjugate: Vec<usize> = (0..shapes.len()).filter(|_| rng.one_in(2)).collect();
    let seed = rng.next();
    let arrays: Vec<ArrayD<T>> = (0..shapes.len()).map(|i| random(&shapes[i], seed, i as u32)).collect();
    let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    let world = if ranks == 1 { World::single() } else { World::in_process(ranks) };
    let accumulate = rng.one_in(2);
    let options = options.clone().dtype(T::DTYPE).accumulate(accumulate);
    let plan = |options: &PlanOptions| shaped.plan(&Machine::new(ranks, 2), options);
    let Ok(plain) = plan(&options) else { return false };
    let marked = plan(&options.clone().conjugate(conjugate.clone())).unwrap();
    marked.verify().unwrap();
    assert_eq!(marked.fingerprint() == plain.fingerprint(), conjugate.is_empty() || !T::DTYPE.is_complex());
    let Ok(mut program) = world.compile::<T>(&marked) else { return false };
    let initial = random::<T>(&plain.output_shape(), seed, 99);
    let (alpha, beta) = (T::from_f64(0.5, 2.0), if accumulate { T::from_f64(-1.0, 0.25) } else { T::ZERO });
    let conjugated: Vec<ArrayD<T>> = arrays
        .iter()
        .enumerate()
        .map(|(i, array)| if conjugate.contains(&i) { array.mapv(T::conjugate) } else { array.clone() })
        .collect();
    let (mut out, mut expected) = (initial.clone(), initial);
    let given: Vec<&dyn einsum_dist::Operand<T>> = arrays.iter().map(|array| array as _).collect();
    let wanted: Vec<&dyn einsum_dist::Operand<T>> = conjugated.iter().map(|array| array as _).collect();
    for _ in 0..2 {
        program.run_into(alpha, &given, beta, &mut out).unwrap();
        world.compile::<T>(&plain).unwrap().run_into(alpha, &wanted, beta, &mut expected).unwrap();
    }
    let terms: f64 = plain.extents.iter().map(|&extent| extent.max(1) as f64).product();
    assert!(
        close(&out, &expected, terms),
        "{expression} {shapes:?} conjugates {conjugate:?} on {ranks} ranks, {options:?}"
    );
    true
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
                assert!(check_type(&mut rng, expression, &shapes, ranks, &PlanOptions::default()));
            }
        }
    }
}

#[test]
fn every_kernel_conjugates() {
    let mut rng = Rng::new(13);
    for kernel in KernelChoice::ALL {
        for (expression, shapes) in EXPRESSIONS {
            let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
            for _ in 0..4 {
                check_type(&mut rng, expression, &shapes, 1, &PlanOptions::default().kernel(kernel));
            }
        }
        for _ in 0..40 {
            let case = Case::random(&mut rng);
            let shapes = [case.shape(&case.left), case.shape(&case.right)];
            check_type(&mut rng, &case.expression(), &shapes, 1, &PlanOptions::default().kernel(kernel));
        }
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
