//! Tests operands with special values: infinities, NaN, signed zeros, huge and tiny numbers.
//!
//! For each element of a result, the real and the imaginary part must have the expected class (finite, infinite with a
//! sign, or NaN). The expected class is that of a computation that adds all products in sequence, step by step along
//! the tree.
//!
//! The finite numbers are chosen so that the class depends neither on the order of additions nor on fused
//! multiply-adds. They are small integers or, in trees in which only one step multiplies, numbers whose products are
//! far from overflow.

use einsum_dist::dims::Label;
use einsum_dist::exec::ResolvedKernel;
use einsum_dist::plan::{AlgorithmName, KernelChoice};
use einsum_dist::tree::{Step, Tree};
use einsum_dist::{Dtype, Element, Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

use super::Rng;

/// Expressions with their shapes, and whether more than one step multiplies.
const EXPRESSIONS: [(&str, &[&[usize]], bool); 19] = [
    ("mk,kn->mn", &[&[9, 1100], &[1100, 7]], false),
    ("mk,kn->mn", &[&[37, 20], &[20, 33]], false),
    ("km,nk->nm", &[&[30, 18], &[17, 30]], false),
    ("bmk,bkn->bmn", &[&[5, 6, 12], &[5, 12, 7]], false),
    ("ibk,kbj->jbi", &[&[6, 4, 9], &[9, 4, 5]], false),
    ("m,n->mn", &[&[21], &[34]], false),
    ("k,k->", &[&[70], &[70]], false),
    ("mk,k->m", &[&[23, 41], &[41]], false),
    ("ab,ab->ab", &[&[13, 18], &[13, 18]], false),
    ("abk,abk->ba", &[&[4, 5, 33], &[4, 5, 33]], false),
    ("a,->a", &[&[3], &[]], false),
    ("ijk->kji", &[&[5, 6, 7]], false),
    ("ij->j", &[&[40, 9]], false),
    ("ij->", &[&[15, 16]], false),
    ("iji->ij", &[&[8, 9, 8]], false),
    ("aab,bc->ac", &[&[6, 6, 9], &[9, 7]], false),
    ("ab,bc->", &[&[7, 9], &[9, 6]], true),
    ("ij,jk,kl->il", &[&[6, 8], &[8, 7], &[7, 9]], true),
    ("[ij,jk->ik],[kl,l->k]->i", &[&[6, 8], &[8, 7], &[7, 9], &[9]], true),
];

/// Runs every expression with every element type on all ranks of a world. Returns the number of runs. Collective.
pub fn special_values(world: &World) -> usize {
    let mut rng = Rng::new(world.ranks() as u64 + 27);
    let mut runs = 0;
    for (expression, shapes, several) in EXPRESSIONS {
        let problem = Problem::parse(expression).unwrap();
        let shaped = problem.shapes(&shapes.iter().map(|shape| shape.to_vec()).collect::<Vec<_>>()).unwrap();
        for dtype in [Dtype::Float32, Dtype::Float64, Dtype::Complex64, Dtype::Complex128] {
            let options = PlanOptions::default().dtype(dtype).path("left-to-right".parse().unwrap()).idle(true);
            let tree = shaped.tree(&Machine::default(), &options).unwrap();
            let plans = plans(world.ranks(), &mut rng, |algorithm, kernel, workers| {
                let options = options.clone().algorithm(algorithm).kernel(kernel);
                ResolvedKernel::resolve(kernel, dtype).ok()?;
                shaped.plan_tree(&tree, &Machine::new(world.ranks(), workers), &options).ok()
            });
            runs += plans.len();
            match dtype {
                Dtype::Float32 => check::<f32>(world, &tree, &plans, &mut rng, several),
                Dtype::Float64 => check::<f64>(world, &tree, &plans, &mut rng, several),
                Dtype::Complex64 => check::<Complex<f32>>(world, &tree, &plans, &mut rng, several),
                Dtype::Complex128 => check::<Complex<f64>>(world, &tree, &plans, &mut rng, several),
            }
        }
    }
    runs
}

/// On one rank, returns plans for all kernels. On several ranks, returns plans for all applicable algorithms with
/// random kernels.
fn plans(
    ranks: usize,
    rng: &mut Rng,
    plan: impl Fn(Option<AlgorithmName>, KernelChoice, usize) -> Option<Plan>,
) -> Vec<Plan> {
    if ranks == 1 {
        return KernelChoice::ALL.iter().filter_map(|&kernel| plan(None, kernel, 1 + rng.below(2))).collect();
    }
    let by_algorithm = AlgorithmName::ALL.into_iter().filter_map(|algorithm| {
        let kernel = KernelChoice::ALL[rng.below(KernelChoice::ALL.len())];
        plan(Some(algorithm), kernel, 1).or_else(|| plan(Some(algorithm), KernelChoice::Auto, 1))
    });
    by_algorithm.collect()
}

/// Runs several plans for one tree with the same operands, and compares the classes of the results with the expected
/// ones.
fn check<T: Element>(world: &World, tree: &Tree, plans: &[Plan], rng: &mut Rng, several: bool) {
    let mut operands = vec![ArrayD::from_elem(IxDyn(&[]), T::ZERO); tree.operands];
    for node in &tree.nodes {
        if let Step::Leaf { operand } = node.step {
            operands[operand] = operand_of(rng, &tree.shape(&node.labels), several);
        }
    }
    let sums = steps(tree, &operands);
    let before: ArrayD<T> = operand_of(rng, sums.shape(), several);
    let operands: Vec<&dyn Operand<T>> = operands.iter().map(|operand| operand as &dyn Operand<T>).collect();
    let number = |re, im| T::from_f64(re, im);
    let factors = [number(1.0, 0.0), number(-1.0, 0.0), number(2.0, -0.0), number(1.5, -0.5)];
    for (at, plan) in plans.iter().enumerate() {
        let mut program = world.compile::<T>(plan).unwrap();
        for (alpha, beta) in
            [(T::ONE, T::ZERO), (T::ONE, T::ONE), (factors[at % 4], factors[(at / 4 + 1) % 4]), (factors[3], T::ZERO)]
        {
            let mut got = before.clone();
            program.run_into(alpha, &operands, beta, &mut got).unwrap();
            for (index, &sum) in sums.indexed_iter() {
                let old = before[&index];
                let new = scaled(sum, alpha);
                let want = if beta == T::ZERO { new } else { scaled(old, beta) + new };
                assert_eq!(
                    classes(got[&index]),
                    classes(want),
                    "{index:?}: {:?} and not {want:?} = {alpha:?} {sum:?} + {beta:?} {old:?}, {}\n{}",
                    got[&index],
                    plan.kernel.name(),
                    plan.explain(),
                );
            }
        }
    }
}

/// An operand whose values are finite, except for a few special values.
fn operand_of<T: Element>(rng: &mut Rng, shape: &[usize], several: bool) -> ArrayD<T> {
    let narrow = matches!(T::DTYPE, Dtype::Float32 | Dtype::Complex64);
    let (huge, tiny, subnormal) = if narrow { (1e16, 1e-30, 1e-40) } else { (1e150, 1e-300, 1e-310) };
    let finite = |rng: &mut Rng| match rng.below(12) {
        0 if !several => huge,
        1 if !several => -tiny,
        2 if !several => subnormal,
        3 => -0.0,
        4 => 0.0,
        _ => rng.below(7) as f64 - 3.0,
    };
    let special = |rng: &mut Rng| [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::INFINITY, -0.0][rng.below(5)];
    let elements: usize = shape.iter().product();
    let mut values: Vec<[f64; 2]> = (0..elements).map(|_| [finite(rng), finite(rng)]).collect();
    // Only a few elements are special, because otherwise the whole result would be NaN.
    for _ in 0..rng.below(4) {
        values[rng.below(elements)][rng.below(2)] = special(rng);
    }
    let values = values.into_iter().map(|[re, im]| T::from_f64(re, im)).collect();
    ArrayD::from_shape_vec(IxDyn(shape), values).unwrap()
}

/// The result of a tree, computed step by step.
fn steps<T: Element>(tree: &Tree, operands: &[ArrayD<T>]) -> ArrayD<T> {
    let mut values: Vec<ArrayD<T>> = Vec::new();
    for node in &tree.nodes {
        let labelled = |id: usize| (tree.nodes[id].labels.as_slice(), &values[id]);
        let value = match &node.step {
            Step::Leaf { operand } => operands[*operand].clone(),
            Step::Unary { input, .. } => step(tree, &[labelled(*input)], &node.labels),
            Step::Contract { left, right, .. } => step(tree, &[labelled(*left), labelled(*right)], &node.labels),
        };
        values.push(value);
    }
    values.pop().unwrap()
}

/// The result of one step. Each product has one factor from each input; products are added in sequence.
fn step<T: Element>(tree: &Tree, inputs: &[(&[Label], &ArrayD<T>)], out: &[Label]) -> ArrayD<T> {
    let mut labels = out.to_vec();
    for label in inputs.iter().flat_map(|(labels, _)| labels.iter()) {
        if !labels.contains(label) {
            labels.push(*label);
        }
    }
    let mut sums = ArrayD::from_elem(IxDyn(&tree.shape(out)), T::ZERO);
    for point in ndarray::indices(IxDyn(&tree.shape(&labels))) {
        let at = |of: &[Label]| -> Vec<usize> {
            of.iter().map(|label| point[labels.iter().position(|other| other == label).unwrap()]).collect()
        };
        let factors = inputs.iter().map(|(labels, input)| input[IxDyn(&at(labels))]);
        sums[IxDyn(&at(out))] += factors.reduce(|a, b| a * b).unwrap();
    }
    sums
}

/// Product of a number and `alpha` or `beta`. A real factor multiplies the real and the imaginary part separately.
fn scaled<T: Element>(value: T, factor: T) -> T {
    let (number, by) = (value.to_c64(), factor.to_c64());
    if by.im == 0.0 { T::from_f64(number.re * by.re, number.im * by.re) } else { value * factor }
}

/// Classes of the real and of the imaginary part.
fn classes<T: Element>(value: T) -> [&'static str; 2] {
    let value = value.to_c64();
    [value.re, value.im].map(|part| match part {
        part if part.is_nan() => "NaN",
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => "finite",
    })
}
