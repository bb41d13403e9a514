//! Tests properties of selected contractions and trees: formulae for transferred bytes, unchanged inputs, equal bits,
//! and error messages.

use crate::common::{Rng, random};
use einsum_dist::dims::Label;
use einsum_dist::distribution::{Axis, Cut, Distribution, Intervals, Owners, Region, Role};
use einsum_dist::exec::{Metrics, Only, RunOptions};
use einsum_dist::kernel::{ReferenceValue, error_bound};
use einsum_dist::plan::{AlgorithmName, Source};
use einsum_dist::schedule::Lane;
use einsum_dist::tree::Step;
use einsum_dist::{DistTensor, Dtype, Element, Error, Machine, Plan, PlanOptions, Problem, Program, World, einsum};
use ndarray::{ArrayD, ArrayViewD, Axis as Dim};

use crate::common::kernels::reference;
use AlgorithmName::{BatchParallel, Local, RingK, RingMn};

fn plan(expression: &str, shapes: &[Vec<usize>], ranks: usize, options: PlanOptions) -> Plan {
    let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    shaped.plan(&Machine::new(ranks, 1), &options.dtype(Dtype::Float64)).unwrap()
}

/// A plan for `cmk,ckn->mcn`, which every algorithm can contract.
fn batched(ranks: usize, algorithm: AlgorithmName) -> Plan {
    let options = PlanOptions::default().algorithm(algorithm);
    plan("cmk,ckn->mcn", &SHAPES.map(|shape| shape.to_vec()), ranks, options)
}

const SHAPES: [[usize; 3]; 2] = [[9, 14, 11], [9, 11, 10]];

fn operands(plan: &Plan, seed: u64) -> Vec<ArrayD<f64>> {
    (0..plan.operands).map(|operand| random(&plan.operand(operand).shape, seed, operand as u32)).collect()
}

fn run(program: &mut Program<f64>, operands: &[ArrayD<f64>]) -> ArrayD<f64> {
    program.run(&operands.iter().map(|operand| operand as _).collect::<Vec<_>>()).unwrap()
}

fn bits(array: &ArrayD<f64>) -> Vec<u64> {
    array.iter().map(|value| value.to_bits()).collect()
}

/// Compares a result with the sum over the complete index space of the expression.
fn check<T: Element>(expression: &str, operands: &[ArrayViewD<T>], out: &ArrayD<T>, what: &str) {
    let shapes: Vec<Vec<usize>> = operands.iter().map(|operand| operand.shape().to_vec()).collect();
    let problem = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
    let tree = problem.tree(&Machine::default(), &PlanOptions::default()).unwrap();
    let mut leaves: Vec<(&[Label], ArrayViewD<T>)> = operands.iter().map(|view| (&[] as _, view.view())).collect();
    for node in &tree.nodes {
        if let Step::Leaf { operand } = node.step {
            leaves[operand].0 = &node.labels;
        }
    }
    let labels = &tree.nodes[tree.root()].labels;
    let mut want = ArrayD::from_elem(tree.shape(labels), ReferenceValue::default());
    reference(&leaves, (labels, want.view_mut()));
    assert_eq!(want.shape(), out.shape(), "{expression} {what}");
    for (want, got) in want.iter().zip(out) {
        let bound = error_bound(T::DTYPE, want.terms, operands.len() as u32 + 1) * want.magnitude;
        let error = (got.to_c64() - want.value).norm();
        assert!(error <= bound, "error {error} beyond {bound}: {expression} {shapes:?} {what}");
    }
}

#[test]
fn rings_receive_what_their_closed_forms_say() {
    for ranks in 1..=9 {
        for (m, k, n) in [(64, 48, 32), (13, 17, 23), (5, 3, 7), (1, 1, 1), (0, 3, 4), (4, 0, 3)] {
            let shapes = [vec![m, k], vec![k, n]];
            for (algorithm, cut) in [(RingMn, ["m", "n"]), (RingK, ["k", "m"]), (RingK, ["k", "n"])] {
                let cut = cut.map(str::to_owned).to_vec();
                let plan = plan("mk,kn->mn", &shapes, ranks, PlanOptions::default().algorithm(algorithm).cut(cut));
                assert!(!plan.values.iter().any(|value| matches!(value.source, Source::Redistribute { .. })));
                let world = World::in_process(ranks);
                let mut program = world.compile::<f64>(&plan).unwrap();
                run(&mut program, &operands(&plan, 1));
                let measured = program.measured().unwrap();
                // The tensor whose blocks are sent around the ring. A rank receives all of these blocks except that of
                // rank `rank + offset`.
                let (travels, offset) = match algorithm {
                    RingMn if plan.operand(0).distribution == plan.output().distribution => (plan.operand(1), 0),
                    RingMn => (plan.operand(0), 0),
                    _ => (plan.output(), 1),
                };
                for (rank, measured) in measured.iter().enumerate() {
                    let block = travels.distribution.block_or_empty(&travels.shape, (rank + offset) % ranks).volume();
                    let total: usize = travels.shape.iter().product();
                    let expected = 8 * (total - block) as u64;
                    let what = format!("{} {m} {k} {n} on rank {rank} of {ranks}", algorithm.name());
                    assert_eq!(plan.schedule(rank).bytes_received(), expected, "{what}");
                    assert_eq!(measured.received.iter().sum::<u64>(), expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn inputs_end_as_they_began() {
    for algorithm in AlgorithmName::ALL {
        let plan = batched(4, algorithm);
        let world = World::in_process(4);
        let mut program = world.compile::<f64>(&plan).unwrap();
        let before = operands(&plan, 3);
        let inputs = before.clone();
        run(&mut program, &inputs);
        assert_eq!(before, inputs);

        let blocks: Vec<DistTensor<f64>> = (0..2)
            .map(|operand| {
                let value = plan.operand(operand);
                DistTensor::random(&world, &value.shape, &value.distribution, 3, operand as u32)
            })
            .collect();
        let mut out = DistTensor::zeros(&world, &plan.output().shape, &plan.output().distribution);
        program.run_dist(1.0, &[&blocks[0], &blocks[1]], 0.0, &mut out).unwrap();
        for (block, before) in blocks.iter().zip(&before) {
            assert_eq!(bits(&block.gather(&world).unwrap()), bits(before), "{}", algorithm.name());
        }
    }
}

#[test]
fn with_beta_0_the_output_is_not_read() {
    let trees = ["[cmk,ckn->mcn]->n", "[cmk->kmc],ckn->nm"];
    let plans = AlgorithmName::ALL.map(|algorithm| batched(algorithm.ranks().at_most(5), algorithm)).into_iter();
    let trees = trees.map(|tree| plan(tree, &SHAPES.map(|shape| shape.to_vec()), 3, PlanOptions::default()));
    // This contraction sums over an empty dimension, so it has no products.
    let nothing = plan("mk,kn->mn", &[vec![6, 0], vec![0, 5]], 3, PlanOptions::default().algorithm(RingK));
    for plan in plans.chain(trees).chain([nothing]) {
        let world = World::in_process(plan.ranks());
        let mut program = world.compile::<f64>(&plan).unwrap();
        let inputs = operands(&plan, 5);
        let mut out = ArrayD::from_elem(plan.output().shape.clone(), f64::NAN);
        program.run_into(2.0, &[&inputs[0], &inputs[1]], 0.0, &mut out).unwrap();
        assert!(out.iter().all(|value| value.is_finite()), "{}", plan.explain());

        let mut tensors = (0..2).map(|index| {
            let value = plan.operand(index);
            let mut tensor = DistTensor::zeros(&world, &value.shape, &value.distribution);
            tensor.assign(inputs[index].view());
            tensor
        });
        let (left, right) = (tensors.next().unwrap(), tensors.next().unwrap());
        let distribution = plan.output().distribution.clone();
        let mut out = DistTensor::from_fn(&world, &plan.output().shape, &distribution, |_| f64::NAN);
        program.run_dist(2.0, &[&left, &right], 0.0, &mut out).unwrap();
        let whole = out.gather(&world).unwrap();
        assert!(whole.iter().all(|value| value.is_finite()), "{}", plan.explain());
    }
}

#[test]
fn every_algorithm_adds_onto_an_output() {
    // Small integers, so that every sum is exact in any order.
    let whole = |array: ArrayD<f64>| array.mapv(|value| (value * 8.0).round());
    for ranks in 1..=5 {
        for algorithm in AlgorithmName::ALL {
            let ranks = algorithm.ranks().at_most(ranks);
            let plan = batched(ranks, algorithm);
            let world = World::in_process(ranks);
            let mut program = world.compile::<f64>(&plan).unwrap();
            let inputs: Vec<ArrayD<f64>> = operands(&plan, 7).into_iter().map(whole).collect();
            let fresh = run(&mut program, &inputs);
            let prior = whole(random(&plan.output().shape, 7, 2));
            let mut out = prior.clone();
            for _ in 0..2 {
                program.run_into(2.0, &[&inputs[0], &inputs[1]], -1.0, &mut out).unwrap();
            }
            // Let x be the product of the inputs. The two runs compute 2 x - (2 x - prior), which equals prior.
            assert_eq!(out, prior, "{} on {ranks}", algorithm.name());
            program.run_into(2.0, &[&inputs[0], &inputs[1]], 3.0, &mut out).unwrap();
            assert_eq!(out, &fresh * 2.0 + &prior * 3.0, "{} on {ranks}", algorithm.name());
        }
    }
}

#[test]
fn a_compiled_plan_sees_data_that_changed_in_place() {
    for algorithm in AlgorithmName::ALL {
        let ranks = algorithm.ranks().at_most(5);
        let plan = batched(ranks, algorithm);
        let world = World::in_process(ranks);
        let mut program = world.compile::<f64>(&plan).unwrap();
        let mut inputs = operands(&plan, 9);
        let first = run(&mut program, &inputs);
        inputs[1].mapv_inplace(|value| value * 2.0);
        assert_eq!(run(&mut program, &inputs), &first * 2.0);
        inputs[0].mapv_inplace(|value| value * -0.5);
        assert_eq!(run(&mut program, &inputs), -first);
    }
}

#[test]
fn bits_repeat_whatever_runs_at_the_same_time() {
    for algorithm in AlgorithmName::ALL {
        let mut seen: Option<Vec<u64>> = None;
        let ranks = algorithm.ranks().at_most(5);
        for (overlap, window) in [(true, 4), (true, 1), (true, 2), (true, 8), (false, 4), (false, 1)] {
            for world in [World::in_process(ranks), World::throttled(ranks, 1e9)] {
                let plan = batched(ranks, algorithm);
                let world = world.with(RunOptions { overlap, window, ..RunOptions::default() });
                let mut program = world.compile::<f64>(&plan).unwrap();
                let inputs = operands(&plan, 11);
                for _ in 0..3 {
                    let bits = bits(&run(&mut program, &inputs));
                    let what = format!("{}, overlap {overlap}, window {window}", algorithm.name());
                    assert_eq!(seen.get_or_insert_with(|| bits.clone()), &bits, "{what}");
                }
            }
        }
    }
}

#[test]
fn either_half_of_a_run_runs_alone() {
    for algorithm in AlgorithmName::ALL {
        let ranks = algorithm.ranks().at_most(5);
        let plan = batched(ranks, algorithm);
        let planned: u64 = (0..ranks).map(|rank| plan.schedule(rank).bytes_received()).sum();
        for (only, bytes) in [(Only::Work, 0), (Only::Transfers, planned)] {
            for (overlap, window) in [(true, 4), (true, 1), (false, 4)] {
                let options = RunOptions { overlap, window, only: Some(only), ..RunOptions::default() };
                let world = World::in_process(ranks).with(options);
                let mut program = world.compile::<f64>(&plan).unwrap();
                let [left, right] = [0, 1].map(|index| {
                    let value = plan.operand(index);
                    DistTensor::random(&world, &value.shape, &value.distribution, 1, index as u32)
                });
                let value = plan.output();
                let mut out = DistTensor::zeros(&world, &value.shape, &value.distribution);
                // Runs twice, because the state that the first run leaves must not block the second run.
                (0..2).for_each(|_| program.run_dist(1.0, &[&left, &right], 0.0, &mut out).unwrap());
                assert_eq!(world.moved().received, 2 * bytes, "{}, {only:?}", algorithm.name());
                let work = |rank: usize, metrics: &Metrics| {
                    let schedule = plan.schedule(rank);
                    let tasks = schedule.tasks.iter().zip(&metrics.tasks);
                    tasks
                        .filter(|(task, _)| task.action.lane() == Lane::Work)
                        .map(|(_, metric)| metric.end)
                        .sum::<f64>()
                };
                let worked = program.metrics().iter().enumerate().any(|(rank, metrics)| work(rank, metrics) > 0.0);
                assert_eq!(worked, only == Only::Work, "{}, {only:?}", algorithm.name());
            }
        }
    }
}

#[test]
fn trees_agree_with_the_whole_sum() {
    let cases: &[(&str, &[&[usize]])] = &[
        ("[ij,jk->ik],kl->il", &[&[7, 5], &[5, 6], &[6, 4]]),
        ("ij,[jk,kl->jl]->li", &[&[7, 5], &[5, 6], &[6, 4]]),
        ("ij,jk,kl->li", &[&[7, 5], &[5, 6], &[6, 4]]),
        ("ij,jk,kl->", &[&[7, 5], &[5, 6], &[6, 4]]),
        ("iij,jk->k", &[&[6, 6, 5], &[5, 8]]),
        ("iij,jki->ki", &[&[6, 6, 5], &[5, 8, 6]]),
        ("ij->ji", &[&[5, 9]]),
        ("ij->j", &[&[12, 9]]),
        ("ij->", &[&[12, 9]]),
        ("ii->", &[&[9, 9]]),
        ("ii->i", &[&[9, 9]]),
        ("iijj->ji", &[&[4, 4, 5, 5]]),
        ("->", &[&[]]),
        (",->", &[&[], &[]]),
        ("i,->i", &[&[7], &[]]),
        ("i,j->ij", &[&[7], &[5]]),
        ("i,j->", &[&[7], &[5]]),
        ("ij,ij->ij", &[&[7, 5], &[7, 5]]),
        ("ij,ij->", &[&[7, 5], &[7, 5]]),
        ("[ij,jk->ik]->", &[&[7, 5], &[5, 6]]),
        ("[ij,jk->ik]->k", &[&[7, 5], &[5, 6]]),
        ("[ij,jk->ik]->ki", &[&[7, 5], &[5, 6]]),
        ("[ij,jl->il],[kj,jl->kl]->ik", &[&[7, 5], &[5, 6], &[4, 3], &[3, 6]]),
        ("[ik,kj->ij],[ik,kj->ij]->ij", &[&[7, 5], &[5, 6], &[7, 4], &[4, 6]]),
        ("[[ij->ji],ik->jk]->kj", &[&[7, 5], &[7, 6]]),
        ("...ij,...jk->...ik", &[&[2, 3, 4, 5], &[3, 5, 6]]),
        ("ij,jk", &[&[7, 0], &[0, 6]]),
        ("ij,jk,kl->il", &[&[7, 5], &[5, 0], &[0, 4]]),
        ("aij,jb->iab", &[&[1, 3, 2], &[2, 1]]),
    ];
    for (expression, shapes) in cases {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        for ranks in 1..=5 {
            let plan = plan(expression, &shapes, ranks, PlanOptions::default());
            plan.verify().unwrap();
            let world = World::in_process(ranks);
            let mut program = world.compile::<f64>(&plan).unwrap();
            let inputs = operands(&plan, 13);
            let views: Vec<ArrayViewD<f64>> = inputs.iter().map(|input| input.view()).collect();
            let out = run(&mut program, &inputs);
            check(expression, &views, &out, &format!("on {ranks}\n{}", plan.explain()));

            // Accumulates onto the result x, which gives 2 x - 0.5 x = 1.5 x. The factors are powers of two, so scaling
            // does not round.
            let mut onto = out.clone();
            let operands: Vec<&dyn einsum_dist::Operand<f64>> = inputs.iter().map(|input| input as _).collect();
            program.run_into(2.0, &operands, -0.5, &mut onto).unwrap();
            check(expression, &views, &(onto / 1.5), &format!("onto an output, on {ranks}\n{}", plan.explain()));
        }
    }
}

/// A random distribution of a tensor with `dims` dimensions, on a grid of at most `ranks` ranks.
fn random_distribution(rng: &mut Rng, dims: usize, ranks: usize, partial: bool) -> Distribution {
    let mut axes = Vec::new();
    let mut left = ranks;
    for _ in 0..rng.below(4) {
        let ranks = 1 + rng.below(left);
        left /= ranks;
        let role = match rng.below(5) {
            0 => Role::Replicate,
            1 if partial => Role::Partial,
            _ if dims > 0 => Role::Cut { dim: rng.below(dims), how: random_cut(rng, ranks) },
            _ => Role::Replicate,
        };
        axes.push(Axis { ranks, role });
    }
    rng.shuffle(&mut axes);
    let distribution = Distribution::new(axes);
    let places = distribution.places();
    match rng.below(4) {
        0 => distribution.owned_by(Owners::From(rng.below(ranks - places + 1))),
        1 => {
            let mut all: Vec<usize> = (0..ranks).collect();
            rng.shuffle(&mut all);
            distribution.owned_by(Owners::Listed(all[..places].to_vec()))
        }
        _ => distribution,
    }
}

fn random_cut(rng: &mut Rng, parts: usize) -> Cut {
    match rng.below(4) {
        0 => {
            let block = 1 + rng.below(3);
            Cut::Cyclic { block, first: 1 + rng.below(block + 1) }
        }
        1 => {
            let mut at: Vec<usize> = (1..parts).map(|_| rng.below(9)).collect();
            at.sort_unstable();
            Cut::At(at)
        }
        _ => Cut::Even,
    }
}

/// Returns a tensor of integers that depend on the position of the element and on the number `summand`.
fn summand(shape: &[usize], summand: usize) -> ArrayD<f64> {
    let mut next = 0;
    ArrayD::from_shape_simple_fn(shape, || {
        next += 1;
        (next * (summand + 1) + summand * summand) as f64
    })
}

/// Requires that each block of `tensor` equals the corresponding part of `whole`.
fn assert_blocks(tensor: &DistTensor<f64>, whole: &ArrayD<f64>, what: &str) {
    for (region, block) in tensor.blocks() {
        assert_eq!(block, part(whole, region), "{what}");
    }
}

/// The elements of a region, in the order in which a block stores them.
fn part(whole: &ArrayD<f64>, region: &Region) -> ArrayD<f64> {
    let indices = |dim: &Intervals| dim.ranges().iter().cloned().flatten().collect::<Vec<usize>>();
    let dims = region.dims().iter().enumerate();
    dims.fold(whole.clone(), |part, (at, dim)| part.select(Dim(at), &indices(dim)))
}

#[test]
fn tensors_go_from_any_distribution_to_any_other() {
    let mut rng = Rng::new(17);
    for number in 0..400 {
        let ranks = 1 + rng.below(7);
        let world = World::in_process(ranks);
        let shape: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(10)).collect();
        let [from, to] = [0, 1].map(|_| random_distribution(&mut rng, shape.len(), ranks, true));
        let what = format!("{number}: {shape:?} on {ranks}, {from:?} to {to:?}");
        let whole = (0..from.summands()).map(|at| summand(&shape, at)).reduce(|a, b| a + b).unwrap();

        // `blocks_mut` yields blocks in the order of ranks.
        let mut tensor = DistTensor::zeros(&world, &shape, &from);
        let holders = (0..ranks).filter(|&rank| from.coordinates(rank).is_some());
        for (rank, (region, mut block)) in holders.zip(tensor.blocks_mut()) {
            block.assign(&part(&summand(&shape, from.summand(rank).unwrap()), &region));
        }
        assert_eq!(tensor.gather(&world).unwrap(), whole, "{what}");
        let moved = tensor.redistribute(&world, &to).unwrap();
        if to.summands() == 1 {
            assert_blocks(&moved, &whole, &what);
        }
        assert_eq!(moved.gather(&world).unwrap(), whole, "{what}, and gathered");

        let rooted = DistTensor::from_root(&world, Some(whole.view()), &shape, &to).unwrap();
        assert_eq!(rooted.gather(&world).unwrap(), whole, "{what}, from the root");
        // Elements that a rank already stores are not transferred.
        let plan = Plan::redistribution(&shape, Dtype::Float64, &from, &to, ranks);
        let elements: u64 = (0..ranks).map(|rank| to.block_or_empty(&shape, rank).volume() as u64).sum();
        let sent: u64 = (0..ranks).map(|rank| plan.schedule(rank).bytes_received()).sum();
        assert!(sent <= 8 * elements * from.summands() as u64, "{what}");
        if from == to && from.summands() == 1 {
            assert_eq!(sent, 0, "{what}");
        }
    }
}

#[test]
fn operands_may_be_any_view() {
    let (a, b) = (random::<f32>(&[12, 10], 19, 0), random::<f32>(&[9, 14], 19, 1));
    let column = random::<f32>(&[1, 7], 19, 2);
    let backwards = a.slice(ndarray::s![..;-1, ..;2]).into_dyn();
    let transposed = b.slice(ndarray::s![1..6, ..;-2]).reversed_axes().into_dyn();
    let repeated = column.broadcast([5, 7]).unwrap().into_dyn();
    for (expression, left, right) in [
        ("ik,nk->in", &backwards, &transposed),
        ("ik,kn->in", &backwards, &repeated),
        ("nk,kn->n", &transposed, &repeated),
        ("nk,kn->nk", &transposed, &repeated),
    ] {
        let out = einsum(expression, &[left, right]).unwrap();
        check(expression, &[left.view(), right.view()], &out, "views");
        for ranks in [2, 3] {
            let shapes = [left.shape().to_vec(), right.shape().to_vec()];
            let plan = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
            let plan = plan.plan(&Machine::new(ranks, 1), &PlanOptions::default()).unwrap();
            let out = World::in_process(ranks).compile::<f32>(&plan).unwrap().run(&[left, right]).unwrap();
            check(expression, &[left.view(), right.view()], &out, &format!("views on {ranks}"));
        }
    }
    // The output is a strided view with reversed rows and every other column of an array.
    let plan = plan("ij,jk->ik", &[vec![6, 5], vec![5, 4]], 3, PlanOptions::default().algorithm(RingK));
    let inputs = operands(&plan, 23);
    let mut program = World::in_process(3).compile::<f64>(&plan).unwrap();
    let straight = run(&mut program, &inputs);
    let mut room = ArrayD::from_elem(vec![6, 8], 0.5);
    let mut view = room.slice_mut(ndarray::s![..;-1, ..;2]);
    program.run_into(1.0, &[&inputs[0], &inputs[1]], 0.0, &mut view).unwrap();
    // A different layout results in a different local plan, which may add in a different order.
    check("ij,jk->ik", &[inputs[0].view(), inputs[1].view()], &straight, "a dense output");
    check("ij,jk->ik", &[inputs[0].view(), inputs[1].view()], &view.into_dyn().to_owned(), "a view as output");
    assert!(room.slice(ndarray::s![.., 1..;2]).iter().all(|&value| value == 0.5));
}

#[test]
fn measurements_are_those_of_the_last_run() {
    let plan = batched(3, RingK);
    let world = World::in_process(3);
    let mut program = world.compile::<f64>(&plan).unwrap();
    let inputs = operands(&plan, 29);
    let received = |program: &Program<f64>| -> Vec<u64> {
        program.measured().unwrap().iter().map(|rank| rank.received.iter().sum()).collect()
    };
    let planned: Vec<u64> = (0..3).map(|rank| plan.schedule(rank).bytes_received()).collect();
    let mut out = ArrayD::from_elem(plan.output().shape.clone(), 1.0);
    program.run_into(1.0, &[&inputs[0], &inputs[1]], 1.0, &mut out).unwrap();
    assert_eq!(received(&program), planned);
    let onto = program.metrics().to_vec();
    run(&mut program, &inputs);
    assert_eq!(received(&program), planned);
    assert_ne!(program.metrics(), onto);
    assert_eq!(world.moved().received, 2 * planned.iter().sum::<u64>());
    assert_eq!(world.moved().sent, world.moved().received);
}

/// The error message of a call that must be rejected.
fn refused<V>(result: Result<V, Error>) -> String {
    match result {
        Err(error @ Error::Usage(_)) => error.to_string(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn calls_that_do_not_fit_are_errors() {
    let plan = batched(2, RingMn);
    let world = World::in_process(2);
    let mut program = world.compile::<f64>(&plan).unwrap();
    let inputs = operands(&plan, 31);
    let wrong = ArrayD::from_elem(vec![9, 11, 11], 0.0);
    assert!(refused(program.run(&[&inputs[0]])).contains("1 operands for a plan of 2"));
    assert!(refused(program.run(&[&inputs[0], &wrong])).contains("operand 1 has shape [9, 11, 11]"));
    let mut out = ArrayD::zeros(vec![9, 14, 10]);
    assert!(refused(program.run_into(1.0, &[&inputs[0], &inputs[1]], 0.0, &mut out)).contains("the output has shape"));
    assert!(refused(program.run_into(1.0, &[&inputs[0], &inputs[1]], 1.0, &mut out)).contains("the output has shape"));
    assert!(refused(world.compile::<f32>(&plan)).contains("the plan is for"));
    assert!(refused(World::in_process(3).compile::<f64>(&plan)).contains("for 2 ranks, the world has 3"));

    let tensors: Vec<DistTensor<f64>> = (0..2)
        .map(|operand| DistTensor::zeros(&world, &plan.operand(operand).shape, &plan.operand(operand).distribution))
        .collect();
    let elsewhere = tensors[0].redistribute(&world, &Distribution::single()).unwrap();
    let mut out = DistTensor::zeros(&world, &plan.output().shape, &plan.output().distribution);
    let message = refused(program.run_dist(1.0, &[&elsewhere, &tensors[1]], 0.0, &mut out));
    assert!(message.contains("operand 0 is distributed as rank 0, but the plan requires d"), "{message}");
    assert!(refused(program.run_dist(1.0, &[&tensors[1], &tensors[1]], 0.0, &mut out)).contains("operand 0 has shape"));
    assert!(
        refused(DistTensor::<f64>::from_root(&world, None, &[3], &Distribution::single())).contains("rank 0 has no")
    );
    // A rejected call leaves the program usable.
    program.run_dist(1.0, &[&tensors[0], &tensors[1]], 0.0, &mut out).unwrap();
}

#[test]
fn a_run_on_several_ranks_is_refused_inside_a_rayon_worker() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for (ranks, algorithm) in [(2, BatchParallel), (2, Local), (1, Local)] {
            let plan = batched(ranks, algorithm);
            let mut program = World::in_process(ranks).compile::<f64>(&plan).unwrap();
            let inputs = operands(&plan, 37);
            let result = program.run(&[&inputs[0], &inputs[1]]);
            match ranks {
                1 => drop(result.unwrap()),
                _ => assert!(refused(result).contains("inside a rayon worker")),
            }
        }
    });
}
