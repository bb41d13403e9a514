//! Plans that do not fit into a memory limit run in slices: the same results, within the limit, and as much memory as planned.

use einsum_dist::dist::Distribution;
use einsum_dist::plan::PlanError;
use einsum_dist::{DistTensor, Dtype, Error, Machine, Operand, Options, Plan, Problem, World};
use ndarray::{ArrayD, IxDyn};

/// Expressions whose intermediates are larger than operands and result, with prime and other extents.
const CASES: &[(&str, &[&[usize]])] = &[
    ("[[ab,cd->abcd],b,d->ac],a->c", &[&[12, 18], &[10, 14], &[18], &[14], &[12]]),
    ("[ab,cd->abcd],bd->ac", &[&[7, 11], &[13, 5], &[11, 5]]),
    ("[ab,bc->abc],[cd,de->cde]->ae", &[&[6, 20], &[20, 30], &[30, 8], &[8, 7]]),
    ("[[abc,cd->abd],bde->ae],ef->af", &[&[9, 30, 4], &[4, 16], &[30, 16, 3], &[3, 5]]),
    ("[aab,bc->abc],b->ac", &[&[8, 8, 24], &[24, 36], &[24]]),
    ("[[ia,ib->iab],[ic,id->icd]->abcd],ac->bd", &[&[12, 8], &[12, 9], &[12, 7], &[12, 6], &[8, 7]]),
    ("[...ab,bc->...abc],cd->...d", &[&[4, 8, 12], &[12, 10], &[10, 3]]),
];

fn operand(at: usize, shape: &[usize]) -> ArrayD<f64> {
    let volume = shape.iter().product::<usize>();
    let elements = (0..volume).map(|place| ((place * 7 + at * 5 + 3) % 5) as f64 - 2.0).collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements).unwrap()
}

fn plan(expression: &str, shapes: &[Vec<usize>], ranks: usize, memory_limit: Option<u64>) -> Result<Plan, Error> {
    let options = Options { dtype: Dtype::Float64, memory_limit, ..Options::default() };
    // A rank alone computes in the caller's pool; others have pools of their own.
    let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
    Problem::parse(expression)?.shapes(shapes)?.plan(&Machine::new(ranks, workers), &options)
}

fn peak(plan: &Plan) -> u64 {
    plan.report(None).peak_bytes.planned
}

fn each(mut visit: impl FnMut(&str, &[Vec<usize>], &[ArrayD<f64>])) {
    for (expression, shapes) in CASES {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        let operands: Vec<ArrayD<f64>> = shapes.iter().enumerate().map(|(at, shape)| operand(at, shape)).collect();
        visit(expression, &shapes, &operands);
    }
}

#[test]
fn half_of_the_memory_is_enough() {
    each(|expression, shapes, operands| {
        let borrowed: Vec<&dyn Operand<f64>> = operands.iter().map(|operand| operand as _).collect();
        for ranks in [1, 2, 3] {
            let what = format!("{expression} of {shapes:?} on {ranks}");
            let whole = plan(expression, shapes, ranks, None).unwrap();
            let limit = peak(&whole) / 2;
            let sliced = plan(expression, shapes, ranks, Some(limit)).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(sliced.slice_count() > 1 && peak(&sliced) <= limit, "{what}: {}", sliced.explain());
            sliced.verify().unwrap();
            assert!(sliced.total_gflop() >= whole.total_gflop(), "{what}");
            // What is summed in pieces is summed all the same.
            let pieces = sliced.slices.iter().map(|slice| (slice.label, slice.extent / slice.piece));
            let summed = pieces.filter(|(label, _)| !sliced.output().labels.contains(label));
            assert!(sliced.roundings() >= summed.map(|(_, pieces)| pieces as u64).product(), "{what}");
            let world = World::in_process(ranks);
            let want = world.compile::<f64>(&whole).unwrap().run(&borrowed).unwrap();
            let mut program = world.compile::<f64>(&sliced).unwrap();
            assert_eq!(program.run(&borrowed).unwrap(), want, "{what}");
            let measured = program.measured().unwrap().iter().map(|rank| rank.peak_bytes).max().unwrap();
            assert_eq!(measured, peak(&sliced), "{what}");
            // Again, onto what is there.
            let mut out = want.clone();
            program.run_into(2.0, &borrowed, -1.0, &mut out).unwrap();
            assert_eq!(out, want, "{what}");
        }
    });
}

#[test]
fn ranks_keep_their_blocks() {
    each(|expression, shapes, operands| {
        let whole = plan(expression, shapes, 2, None).unwrap();
        let sliced = plan(expression, shapes, 2, Some(peak(&whole) / 2)).unwrap();
        let world = World::in_process(2);
        let lies = |index: usize, array: &ArrayD<f64>| {
            let distribution: &Distribution = &sliced.operand(index).distribution;
            let mut tensor = DistTensor::zeros(&world, array.shape(), distribution);
            tensor.assign(array.view());
            tensor
        };
        let tensors: Vec<DistTensor<f64>> = operands.iter().enumerate().map(|(at, array)| lies(at, array)).collect();
        let mut out = DistTensor::zeros(&world, &sliced.output_shape(), &sliced.output().distribution);
        let mut program = world.compile::<f64>(&sliced).unwrap();
        program.run_dist(1.0, &tensors.iter().collect::<Vec<_>>(), 0.0, &mut out).unwrap();
        let borrowed: Vec<&dyn Operand<f64>> = operands.iter().map(|operand| operand as _).collect();
        let want = World::in_process(2).compile::<f64>(&whole).unwrap().run(&borrowed).unwrap();
        assert_eq!(out.gather(&world).unwrap(), want, "{expression}");
    });
}

#[test]
fn what_cannot_fit_says_how_much_is_missing_and_where() {
    let shapes = [vec![100, 10], vec![10, 100]];
    let Err(Error::Plan(error @ PlanError::Memory { .. })) = plan("ab,bc->ac", &shapes, 1, Some(90_000)) else {
        panic!("it cannot fit")
    };
    assert_eq!(
        error.to_string(),
        "rank 0 needs 96000 bytes, 6000 more than the memory limit of 90000, for operands and result alone"
    );
    let error = plan("ab,bc,cd->ad", &[vec![3, 2], vec![2, 3], vec![3, 3]], 1, Some(260)).unwrap_err().to_string();
    assert!(error.contains(" more than the memory limit of 260, "), "{error}");
}
