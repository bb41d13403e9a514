//! Tests runs that keep an exponent apart: for networks whose values leave the range of the element type, the digits must
//! be those of double precision with scaled operands, on any number of ranks, sliced or not.

use crate::common::Rng;
use einsum_dist::{DistTensor, Dtype, Element, Machine, Plan, PlanOptions, Problem, World};
use num_complex::Complex;

/// A chain of matrices with random extents, as an expression with its shapes.
fn chain(rng: &mut Rng, length: usize) -> (String, Vec<Vec<usize>>) {
    let labels: Vec<char> = (0..=length).map(|at| char::from_u32(0x4e00 + at as u32).unwrap()).collect();
    let extents: Vec<usize> = (0..=length).map(|_| 2 + rng.below(6)).collect();
    let terms: Vec<String> = labels.windows(2).map(|pair| pair.iter().collect()).collect();
    let shapes = extents.windows(2).map(<[usize]>::to_vec).collect();
    (format!("{}->{}{}", terms.join(","), labels[0], labels[length]), shapes)
}

/// The element at `at` of an operand, before it is scaled: some positive, so that products grow, and others of random
/// signs.
fn element(operand: usize, at: &[usize]) -> f64 {
    let mut rng = Rng::new(at.iter().fold(operand as u64 * 77 + 5, |seed, &at| seed * 31 + at as u64));
    let number = (1 + rng.below(1000)) as f64 / 1000.0;
    if operand.is_multiple_of(2) || rng.below(2) == 0 { number } else { -number }
}

/// Runs a plan with operands that are scaled by `scales`, and returns the result as numbers and an exponent.
fn run<T: Element>(plan: &Plan, scales: &[f64], runs: usize) -> (Vec<Complex<f64>>, i64) {
    let world = World::in_process(plan.ranks());
    let mut program = world.compile::<T>(plan).unwrap();
    let operand = |number: usize| {
        DistTensor::<T>::from_fn(&world, &plan.operand_shape(number), &plan.operand(number).distribution, |at| {
            T::from_f64(element(number, at) * scales[number % scales.len()], 0.0)
        })
    };
    let operands: Vec<DistTensor<T>> = (0..plan.operands).map(operand).collect();
    let operands: Vec<&DistTensor<T>> = operands.iter().collect();
    let mut out = DistTensor::zeros(&world, &plan.output_shape(), &plan.output().distribution);
    let mut outcome = None;
    for _ in 0..runs {
        let exponent = program.run_dist_with_exponent(&operands, &mut out).unwrap();
        let numbers: Vec<Complex<f64>> = out.gather(&world).unwrap().iter().map(|number| number.to_c64()).collect();
        let previous = outcome.replace((numbers, exponent));
        assert!(previous.is_none() || previous == outcome, "another result in another run");
    }
    // A run without an exponent is not scaled.
    program.run_dist(T::ONE, &operands, T::ZERO, &mut out).unwrap();
    if scales.iter().all(|&scale| scale == 1.0) && plan.operands < 9 {
        let (numbers, exponent) = outcome.clone().unwrap();
        let plain = out.gather(&world).unwrap();
        for (number, plain) in numbers.iter().zip(&plain) {
            assert!((number * 2f64.powi(exponent as i32) - plain.to_c64()).norm() <= 1e-5 * plain.to_c64().norm());
        }
    }
    outcome.unwrap()
}

/// Requires the same numbers, of which the largest is in [1/2, 1), up to a relative error.
fn same(got: &(Vec<Complex<f64>>, i64), want: &(Vec<Complex<f64>>, i64), factor: f64, error: f64, what: &str) {
    let largest = got.0.iter().flat_map(|number| [number.re.abs(), number.im.abs()]).fold(0.0, f64::max);
    assert!((0.5..1.0).contains(&largest), "{largest}: {what}");
    assert_eq!(got.0.len(), want.0.len());
    // The logarithm of the quotient of both scales, which `factor` is.
    let scale = ((got.1 - want.1) as f64 - factor).exp2();
    for (got, want) in got.0.iter().zip(&want.0) {
        assert!((got * scale - want).norm() <= error, "{got} times {scale}, not {want}: {what}");
    }
}

fn plan(expression: &str, shapes: &[Vec<usize>], dtype: Dtype, ranks: usize, limit: Option<u64>) -> Plan {
    let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
    let mut options = PlanOptions::default().dtype(dtype);
    if let Some(limit) = limit {
        options = options.memory_limit(limit);
    }
    shaped.plan(&Machine::new(ranks, workers), &options).unwrap()
}

#[test]
fn chains_leave_the_range() {
    let mut rng = Rng::new(3);
    for length in [1, 2, 5, 24, 90] {
        let (expression, shapes) = chain(&mut rng, length);
        let want = run::<f64>(&plan(&expression, &shapes, Dtype::Float64, 1, None), &[1.0], 1);
        for scales in [&[1e30f64][..], &[1e-30], &[1e30, 1e-30, 1e-30], &[10.0], &[1.0]] {
            let factor: f64 = (0..length).map(|at| scales[at % scales.len()].log2()).sum();
            for ranks in 1..=4 {
                let what = format!("{length} matrices by {scales:?} on {ranks} ranks");
                let single = plan(&expression, &shapes, Dtype::Float32, ranks, None);
                same(&run::<f32>(&single, scales, 2), &want, factor, 1e-4, &what);
            }
            let complex = plan(&expression, &shapes, Dtype::Complex64, 2, None);
            same(&run::<Complex<f32>>(&complex, scales, 1), &want, factor, 1e-4, "complex");
        }
        for scale in [1e200, 1e-200] {
            let double = plan(&expression, &shapes, Dtype::Float64, 3, None);
            let factor = length as f64 * f64::log2(scale);
            same(&run::<f64>(&double, &[scale], 2), &want, factor, 1e-9, "double");
        }
    }
}

/// Slices, groups of ranks, sums and diagonals of operands and intermediates.
#[test]
fn slices_have_one_exponent() {
    let shapes = [vec![12, 6], vec![18, 6], vec![18, 15], vec![15, 7]];
    let expression = "[[ai,bi->abi],bc->aci],cd->ad";
    let want = run::<f64>(&plan(expression, &shapes, Dtype::Float64, 1, None), &[1.0], 1);
    let mut groups = 0;
    for ranks in [1, 2, 3, 4] {
        let shaped = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
        let whole = shaped.plan(&Machine::new(1, 1), &PlanOptions::default()).unwrap().peak_bytes(0);
        let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
        for (number, percent) in [(1, 30), (1, 60), (2, 60), (ranks, 60)] {
            let options = PlanOptions::default().slice_groups(number).memory_limit(whole * percent / 100);
            let Ok(plan) = shaped.plan(&Machine::new(ranks, workers), &options) else { continue };
            groups = groups.max(plan.slice_groups * plan.slice_count().min(2));
            for scale in [1e25, 1e-25] {
                same(&run::<f32>(&plan, &[scale], 2), &want, 4.0 * f64::log2(scale), 1e-5, &plan.explain().to_string());
            }
        }
    }
    assert!(groups > 2, "no plan has slices and groups");
    let (expression, shapes) =
        ("[iij->ij],[jk,kl->jkl],[kkl->l]->il", [vec![5, 5, 3], vec![3, 4], vec![4, 7], vec![4, 4, 7]]);
    let want = run::<f64>(&plan(expression, &shapes, Dtype::Float64, 1, None), &[1.0], 1);
    for ranks in 1..=3 {
        let plan = plan(expression, &shapes, Dtype::Float32, ranks, None);
        same(&run::<f32>(&plan, &[1e-28], 1), &want, 4.0 * f64::log2(1e-28), 1e-5, expression);
    }
}

#[test]
fn zeros_and_infinities_have_no_exponent() {
    for ranks in [1, 2] {
        let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![3, 2], vec![2, 2]]).unwrap();
        let world = World::in_process(ranks);
        let mut program = world.prepare::<f32>(&shaped, 1, &PlanOptions::default()).unwrap();
        let plan = program.plan().clone();
        let tensor = |number: usize, value: f32| {
            DistTensor::from_fn(&world, &plan.operand_shape(number), &plan.operand(number).distribution, |_| value)
        };
        let mut out = DistTensor::zeros(&world, &[3, 2], &plan.output().distribution);
        let mut outcome = |left: f32, right: f32| {
            let exponent = program.run_dist_with_exponent(&[&tensor(0, left), &tensor(1, right)], &mut out).unwrap();
            (exponent, out.gather(&world).unwrap()[[0, 0]])
        };
        assert_eq!(outcome(0.0, 1e30), (0, 0.0));
        assert_eq!(outcome(f32::INFINITY, 1.0), (0, f32::INFINITY));
        assert!(outcome(1.0, f32::NAN).1.is_nan());
        // 2 * 2^100 * 2^100 is 1/2 * 2^202.
        assert_eq!(outcome(2f32.powi(100), 2f32.powi(100)), (202, 0.5));
        // The smallest subnormal number.
        assert_eq!(outcome(1e-45, 1e-45), (2 * -149 + 2, 0.5));
    }
    let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![3, 0], vec![0, 2]]).unwrap();
    let world = World::single();
    let mut program = world.prepare::<f32>(&shaped, 1, &PlanOptions::default()).unwrap();
    let (array, exponent) =
        program.run_with_exponent(&[&ndarray::Array2::zeros((3, 0)), &ndarray::Array2::zeros((0, 2))]).unwrap();
    assert_eq!((array, exponent), (ndarray::ArrayD::zeros(vec![3, 2]), 0));
}
