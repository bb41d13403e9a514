//! Tests plans that would exceed a memory limit if they did not run in slices. A slice is a run for one range of
//! indices of each sliced dimension. Results must not change, and the measured memory must equal the planned memory,
//! which must be within the limit.

use einsum_dist::distribution::Distribution;
use einsum_dist::plan::{PathReport, PlanError};
use einsum_dist::report::Measured;
use einsum_dist::{DistTensor, Dtype, Error, Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::{ArrayD, IxDyn};

/// Expressions whose intermediates are larger than operands and result. Some extents are prime.
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
    let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(memory_limit);
    // A single rank uses the thread pool of its caller, whereas each of several ranks has its own pool.
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
            let within =
                |limit| plan(expression, shapes, ranks, Some(limit)).unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut limit = peak(&whole) / 2;
            let mut sliced = within(limit);
            // If a different plan fits into half of the memory without slices, the limit is reduced below the memory of
            // that plan.
            while ranks > 1 && sliced.slice_count() == 1 {
                limit = peak(&sliced) * 4 / 5;
                sliced = within(limit);
            }
            assert!(sliced.slice_count() > 1 && peak(&sliced) <= limit, "{what}: {}", sliced.explain());
            sliced.verify().unwrap();
            assert!(sliced.total_gflop() >= whole.total_gflop(), "{what}");
            // The results of slices along a contracted dimension are summed, so the bound must count at least one
            // rounding per such slice.
            let pieces = sliced.slices.iter().map(|slice| (slice.label, slice.extent / slice.piece));
            let summed = pieces.filter(|(label, _)| !sliced.output().labels.contains(label));
            assert!(sliced.roundings() >= summed.map(|(_, pieces)| pieces as u64).product(), "{what}");
            let flops = |plan| PathReport::of(plan).map(|path| path.log2_flops);
            assert_eq!(flops(&sliced), flops(&whole), "{what}");
            let world = World::in_process(ranks);
            let want = world.compile::<f64>(&whole).unwrap().run(&borrowed).unwrap();
            let mut program = world.compile::<f64>(&sliced).unwrap();
            assert_eq!(program.run(&borrowed).unwrap(), want, "{what}");
            let max_peak = |ranks: &[Measured]| ranks.iter().map(|rank| rank.peak_bytes).max().unwrap();
            assert_eq!(max_peak(&program.measured().unwrap()), peak(&sliced), "{what}");
            // Dense blocks may need less packing memory than blocks that are views of undistributed tensors.
            let block_of = |index: usize| {
                let value = sliced.operand(index);
                let mut block = DistTensor::zeros(&world, &sliced.operand_shape(index), &value.distribution);
                block.assign(operands[index].view());
                block
            };
            let blocks: Vec<DistTensor<f64>> = (0..operands.len()).map(block_of).collect();
            let mut result = DistTensor::zeros(&world, &sliced.output_shape(), &sliced.output().distribution);
            let mut compiled = world.compile::<f64>(&sliced).unwrap();
            compiled.run_dist(1.0, &blocks.iter().collect::<Vec<_>>(), 0.0, &mut result).unwrap();
            assert_eq!(result.gather(&world).unwrap(), want, "{what}");
            let measured = max_peak(&compiled.measured().unwrap());
            assert!(measured <= peak(&sliced) && (ranks > 1 || measured == peak(&sliced)), "{what}");
            // A second run accumulates onto the result of the first.
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
        let tensor_of = |index: usize, array: &ArrayD<f64>| {
            let distribution: &Distribution = &sliced.operand(index).distribution;
            let mut tensor = DistTensor::zeros(&world, array.shape(), distribution);
            tensor.assign(array.view());
            tensor
        };
        let tensors: Vec<DistTensor<f64>> =
            operands.iter().enumerate().map(|(at, array)| tensor_of(at, array)).collect();
        let mut out = DistTensor::zeros(&world, &sliced.output_shape(), &sliced.output().distribution);
        let mut program = world.compile::<f64>(&sliced).unwrap();
        program.run_dist(1.0, &tensors.iter().collect::<Vec<_>>(), 0.0, &mut out).unwrap();
        let borrowed: Vec<&dyn Operand<f64>> = operands.iter().map(|operand| operand as _).collect();
        let want = World::in_process(2).compile::<f64>(&whole).unwrap().run(&borrowed).unwrap();
        assert_eq!(out.gather(&world).unwrap(), want, "{expression}");
    });
}

#[test]
fn slices_of_operands_and_results_are_packed_into_the_planned_memory() {
    // Slices have different strides from dense tensors of the same shape, and strides determine which operands are
    // packed.
    let cases: [(&str, &[&[usize]]); 8] = [
        ("ce,ac,bea->bec", &[&[36, 36], &[36, 36], &[36, 36, 36]]),
        ("ba,db,dac->cba", &[&[128, 16], &[60, 128], &[60, 16, 128]]),
        ("cd,acb->dba", &[&[36, 60], &[16, 36, 60]]),
        ("bdc,dac,cad->ab", &[&[200, 36, 24], &[36, 36, 24], &[24, 36, 36]]),
        ("bac,db->dca", &[&[24, 16, 60], &[16, 24]]),
        ("acb,bda->cd", &[&[16, 16, 60], &[60, 90, 16]]),
        ("cdb,ca->abd", &[&[90, 36, 16], &[90, 200]]),
        ("cab,dc->bad", &[&[90, 36, 60], &[200, 90]]),
    ];
    let world = World::single();
    let mut sliced = 0;
    for (expression, shapes) in cases {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        let whole = plan(expression, &shapes, 1, None).unwrap();
        for (percent, in_parts) in [(98, false), (95, false), (90, true), (75, true), (60, true), (45, true)] {
            let limit = Some(peak(&whole) * percent / 100);
            let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(limit).in_parts(in_parts);
            let machine = Machine::new(1, rayon::current_num_threads());
            let shaped = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
            let Ok(plan) = shaped.plan(&machine, &options) else { continue };
            sliced += usize::from(plan.slice_count() > 1);
            let alone = Distribution::single();
            let operands = shapes.iter().map(|shape| DistTensor::<f64>::zeros(&world, shape, &alone));
            let operands: Vec<DistTensor<f64>> = operands.collect();
            let mut part = DistTensor::zeros(&world, &plan.part_shape(), &alone);
            let mut program = world.compile::<f64>(&plan).unwrap();
            for number in 0..plan.part_count() {
                program.run_part(number, 1.0, &operands.iter().collect::<Vec<_>>(), 0.0, &mut part).unwrap();
            }
            assert_eq!(program.measured().unwrap()[0].peak_bytes, peak(&plan), "{expression}: {}", plan.explain());
        }
    }
    assert!(sliced >= 20, "{sliced} of {} plans in slices", 6 * cases.len());
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
