//! Tests repeated runs of a program on changed data. Everything must be recomputed, except values that depend only on
//! constant operands. These values are kept from run to run.

use einsum_dist::plan::{AlgorithmName, PlanError};
use einsum_dist::schedule::verify::{self, Fault};
use einsum_dist::schedule::{Home, ReuseScope};
use einsum_dist::{Dtype, Error, Machine, Operand, Plan, PlanOptions, Problem, Program, World};
use ndarray::{ArrayD, IxDyn};

/// The trees include subtrees with several operands, unary steps, batches and scalars.
const CASES: &[(&str, &[&[usize]])] = &[
    ("[ab,bc->ac],[cd,de->ce]->ae", &[&[6, 9], &[9, 7], &[7, 8], &[8, 5]]),
    ("[[ab,bc->ac],cd->ad],de->ae", &[&[6, 9], &[9, 7], &[7, 8], &[8, 5]]),
    ("[aab,bc->ac],[cdd->c]->a", &[&[6, 6, 9], &[9, 7], &[7, 4, 4]]),
    ("[hab,hbc->hac],[hcd,hde->hce]->hea", &[&[3, 6, 9], &[3, 9, 7], &[3, 7, 8], &[3, 8, 5]]),
    ("[[ab->ba],bc->ac],[cd,->cd]->da", &[&[6, 9], &[9, 7], &[7, 8], &[]]),
    ("[a,b->ab],[ab,c->abc]->c", &[&[11], &[13], &[11, 13], &[9]]),
];

fn operand(seed: usize, shape: &[usize]) -> ArrayD<f64> {
    let volume = shape.iter().product::<usize>();
    let elements = (0..volume).map(|place| ((place * 7 + seed * 5 + seed * place) % 5) as f64 - 2.0).collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements).unwrap()
}

fn plan(expression: &str, operands: &[ArrayD<f64>], ranks: usize, options: PlanOptions) -> Result<Plan, Error> {
    let shapes: Vec<Vec<usize>> = operands.iter().map(|operand| operand.shape().to_vec()).collect();
    // A single rank uses the thread pool of its caller, whereas each of several ranks has its own pool.
    let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
    Problem::parse(expression)?.shapes(&shapes)?.plan(&Machine::new(ranks, workers), &options)
}

fn options() -> PlanOptions {
    PlanOptions::default().dtype(Dtype::Float64)
}

fn borrowed(operands: &[ArrayD<f64>]) -> Vec<&dyn Operand<f64>> {
    operands.iter().map(|operand| operand as _).collect()
}

/// The result of a newly compiled program.
fn fresh(expression: &str, operands: &[ArrayD<f64>]) -> ArrayD<f64> {
    let plan = plan(expression, operands, 1, options()).unwrap();
    World::single().compile::<f64>(&plan).unwrap().run(&borrowed(operands)).unwrap()
}

/// Number of values that the program keeps between runs.
fn kept(plan: &Plan) -> usize {
    let is_step = |id: usize| !plan.leaves.contains(&id);
    (0..plan.values.len()).filter(|&id| is_step(id) && plan.values[id].lasts == ReuseScope::Program).count()
}

/// Whether any rank computed a kept value in the last run.
fn computed(program: &Program<f64>) -> bool {
    let plan = program.plan();
    program.metrics().iter().enumerate().any(|(rank, metrics)| {
        let tasks = plan.schedule(rank).tasks.into_iter().zip(&metrics.tasks);
        let mut lasting = tasks.filter(|(task, _)| plan.values[task.node].lasts == ReuseScope::Program);
        lasting.any(|(_, metric)| metric.end > metric.start)
    })
}

#[test]
fn subtrees_of_constant_operands_are_computed_once() {
    let mut max_kept = 0;
    for (expression, shapes) in CASES {
        for ranks in [1, 2, 3] {
            for subset in 0..1usize << shapes.len() {
                let constant: Vec<usize> = (0..shapes.len()).filter(|at| subset >> at & 1 == 1).collect();
                let what = format!("{expression} with {constant:?} constant on {ranks}");
                let mut operands: Vec<ArrayD<f64>> = shapes.iter().enumerate().map(|(i, s)| operand(i, s)).collect();
                let planned = plan(expression, &operands, ranks, options().constant(constant.clone()));
                let plan = planned.unwrap_or_else(|error| panic!("{what}: {error}"));
                plan.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
                max_kept = max_kept.max(kept(&plan));
                let mut program = World::in_process(ranks).compile::<f64>(&plan).unwrap();
                assert_eq!(program.run(&borrowed(&operands)).unwrap(), fresh(expression, &operands), "{what}");
                let measured = program.measured().unwrap().iter().map(|rank| rank.peak_bytes).max();
                assert_eq!(measured, Some(plan.report(None).peak_bytes.planned), "{what}");
                // Overwrites all operands except the constant ones.
                for run in 1..3 {
                    for at in (0..shapes.len()).filter(|at| !constant.contains(at)) {
                        operands[at].assign(&operand(at + 10 * run, shapes[at]));
                    }
                    assert_eq!(program.run(&borrowed(&operands)).unwrap(), fresh(expression, &operands), "{what}");
                    assert!(!computed(&program), "{what}");
                }
                let (want, mut out) = (fresh(expression, &operands), operand(9, &plan.output_shape()));
                let sum = &want * 3.0 - &out * 2.0;
                program.run_into(3.0, &borrowed(&operands), -2.0, &mut out).unwrap();
                assert_eq!(out, sum, "{what}");
                // Changes the constant operands, and then calls `renew`.
                let old = operands.clone();
                constant.iter().for_each(|&at| operands[at].assign(&operand(at + 30, shapes[at])));
                program.renew();
                assert_eq!(program.run(&borrowed(&operands)).unwrap(), fresh(expression, &operands), "{what}");
                assert_eq!(computed(&program), kept(&plan) > 0, "{what}");
                let mut out = old[0].clone();
                out = ArrayD::ones(plan.output_shape().as_slice()) * out.iter().count() as f64;
                let sum = fresh(expression, &operands) + &out;
                program.run_into(1.0, &borrowed(&operands), 1.0, &mut out).unwrap();
                assert_eq!(out, sum, "{what}");
            }
        }
    }
    assert!(max_kept >= 3, "a subtree of several steps is kept");
}

/// Tests rings on several ranks. Later runs omit the steps that compute kept values, so transfers for which an omitted
/// step would have waited may still be in flight when the next step starts.
#[test]
fn rings_around_what_is_kept() {
    let expressions = ["[ab,bc->ac],[cd,de->ce]->ae", "[cd,de->ce],[ab,bc->ac]->ae"];
    let shapes = [vec![48, 40], vec![40, 44], vec![44, 36], vec![36, 52]];
    for expression in expressions {
        let first = expression.find("cd").unwrap() < expression.find("ab").unwrap();
        let order = if first { [2, 3, 0, 1] } else { [0, 1, 2, 3] };
        for (ranks, algorithm) in
            [2, 3, 4].into_iter().flat_map(|n| [AlgorithmName::RingMn, AlgorithmName::RingK].map(|a| (n, a)))
        {
            let mut operands: Vec<ArrayD<f64>> = order.iter().map(|&at| operand(at, &shapes[at])).collect();
            let constant: Vec<usize> = (0..4).filter(|&at| order[at] >= 2).collect();
            let options = options().constant(constant.clone()).algorithm(algorithm);
            let what = format!("{expression} on {ranks}, {}", algorithm.name());
            let plan = plan(expression, &operands, ranks, options).unwrap_or_else(|error| panic!("{what}: {error}"));
            plan.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(kept(&plan) > 0, "{what}");
            let mut program = World::throttled(ranks, 2e7).compile::<f64>(&plan).unwrap();
            for run in 0..4 {
                for at in (0..4).filter(|at| !constant.contains(at)) {
                    let shape = operands[at].shape().to_vec();
                    operands[at].assign(&operand(at + 10 * run, &shape));
                }
                assert_eq!(program.run(&borrowed(&operands)).unwrap(), fresh(expression, &operands), "{what}");
                let report = plan.report(Some(&program.measured().unwrap()));
                assert_eq!(report.peak_bytes.measured, Some(report.peak_bytes.planned), "{what}");
            }
        }
    }
}

/// Kept values are not recomputed, so a change of a constant operand has no effect without `renew`.
#[test]
fn a_constant_that_changes_unsaid_is_not_noticed() {
    let (expression, shapes) = CASES[0];
    let mut operands: Vec<ArrayD<f64>> = shapes.iter().enumerate().map(|(i, s)| operand(i, s)).collect();
    let plan = plan(expression, &operands, 1, options().constant(vec![0, 1])).unwrap();
    let mut program = World::single().compile::<f64>(&plan).unwrap();
    let before = program.run(&borrowed(&operands)).unwrap();
    operands[0].fill(7.0);
    assert_eq!(program.run(&borrowed(&operands)).unwrap(), before);
    program.renew();
    assert_eq!(program.run(&borrowed(&operands)).unwrap(), fresh(expression, &operands));
}

/// Tests reuse across slices. The contraction `gd,de` has none of the sliced dimensions, which are labels of `abf`. It
/// is therefore computed only in the first slice of a run and, if its operands are constant, only in the first run.
#[test]
fn slices_keep_what_they_have_in_common() {
    let expression = "[[[ab,bf->abf],b->af],fg->ag],[gd,de->ge]->ae";
    let shapes: [&[usize]; 6] = [&[12, 24], &[24, 18], &[24], &[18, 6], &[6, 16], &[16, 8]];
    let mut operands: Vec<ArrayD<f64>> = shapes.iter().enumerate().map(|(i, s)| operand(i, s)).collect();
    for ranks in [1, 2, 3] {
        for constant in [vec![], vec![4, 5]] {
            let what = format!("{constant:?} constant on {ranks}");
            let whole = plan(expression, &operands, ranks, options()).unwrap();
            let within = |memory_limit: u64| {
                let limited = options().constant(constant.clone()).memory_limit(Some(memory_limit));
                plan(expression, &operands, ranks, limited).unwrap()
            };
            // `ge` is kept if the limit leaves room for it.
            let room = 6 * 8 * 8;
            let reduced = |peak: &Plan| peak.report(None).peak_bytes.planned * 2 / 3 + room;
            let mut limit = reduced(&whole);
            let mut plan = within(limit);
            // If a different plan fits into the memory limit without slices, the limit is reduced further.
            while ranks > 1 && plan.slice_count() == 1 {
                limit = reduced(&plan);
                plan = within(limit);
            }
            let lasts = if constant.is_empty() { ReuseScope::Run } else { ReuseScope::Program };
            let once = |plan: &Plan| plan.values.iter().position(|value| plan.step_text(value) == "gd,de->ge").unwrap();
            // The workspace of this processor's kernels can take the room.
            for more in 1..=8 {
                if plan.values[once(&plan)].lasts == lasts {
                    break;
                }
                plan = within(limit + more * room);
            }
            plan.verify().unwrap();
            let once = once(&plan);
            assert!(plan.slice_count() > 1 && plan.values[once].lasts == lasts, "{what}: {}", plan.explain());
            // Every group computes it once.
            let once_gflop = plan.slice_groups as f64 * 2.0 * (6 * 16 * 8) as f64 / 1e9;
            assert!((plan.gflop(&plan.values[once]) - once_gflop).abs() < 1e-12, "{what}");
            let mut program = World::in_process(ranks).compile::<f64>(&plan).unwrap();
            for run in 0..3 {
                operands[0].assign(&operand(20 + run, shapes[0]));
                assert_eq!(program.run(&borrowed(&operands)).unwrap(), fresh(expression, &operands), "{what}");
                let measured = program.measured().unwrap();
                let report = plan.report(Some(&measured));
                assert_eq!(report.peak_bytes.measured, Some(report.peak_bytes.planned), "{what}");
                if run == 0 || constant.is_empty() {
                    for node in &report.nodes {
                        assert_eq!(node.bytes_received.measured, Some(node.bytes_received.planned), "{what}");
                    }
                }
            }
        }
    }
}

/// Kept values do not share memory with any other buffer. If the plan would therefore exceed the memory limit, they
/// must be recomputed instead.
#[test]
fn a_promise_makes_no_plan_too_large() {
    let expression = "[[[ab,bc->ac],cd->ad],de->ae],ef->af";
    let operands: Vec<ArrayD<f64>> = (0..5).map(|i| operand(i, &[24, 24])).collect();
    let peak = |plan: &Plan| plan.report(None).peak_bytes.planned;
    for ranks in [1, 2] {
        let constant = options().constant(vec![0, 1]);
        let limit = peak(&plan(expression, &operands, ranks, options()).unwrap());
        assert!(peak(&plan(expression, &operands, ranks, constant.clone()).unwrap()) > limit);
        let limited = plan(expression, &operands, ranks, constant.memory_limit(limit)).unwrap();
        assert!(limited.slice_count() == 1 && peak(&limited) <= limit, "{}", limited.explain());
        let mut program = World::in_process(ranks).compile::<f64>(&limited).unwrap();
        for _ in 0..2 {
            assert_eq!(program.run(&borrowed(&operands)).unwrap(), fresh(expression, &operands));
        }
    }
}

#[test]
fn a_constant_operand_that_is_not_there() {
    let operands = [operand(0, &[2, 3]), operand(1, &[3, 4])];
    let Err(Error::Plan(error @ PlanError::Constant { .. })) =
        plan("ab,bc->ac", &operands, 1, options().constant(vec![0, 2]))
    else {
        panic!("there is no operand 2")
    };
    assert_eq!(error.to_string(), "operand 2 is said to be constant, and there are 2 operands");
}

/// The verifier must reject a schedule that overwrites a kept value, or that computes one from operands that change.
#[test]
fn the_verifier_knows_what_is_kept() {
    let (expression, shapes) = CASES[1];
    let operands: Vec<ArrayD<f64>> = shapes.iter().enumerate().map(|(i, s)| operand(i, s)).collect();
    let plan = plan(expression, &operands, 1, options().constant(vec![0, 1])).unwrap();
    let fault = |schedule| verify::own(schedule, &plan.spec()).map(|_| ()).map_err(|error| error.fault);
    let schedule = plan.schedule(0);
    assert_eq!(fault(schedule.clone()), Ok(()));
    let own: Vec<usize> = (0..schedule.buffers.len()).filter(|&id| schedule.buffers[id].home == Home::Arena).collect();
    let [kept, other] = own[..] else { panic!("two intermediates, not {own:?}") };
    assert!(schedule.kept()[kept] && !schedule.kept()[other]);
    let mut shared = schedule.clone();
    shared.offsets[other] = shared.offsets[kept];
    assert_eq!(fault(shared), Err(Fault::Shared { buffer: other, other: kept }));
    for node in 0..plan.values.len() {
        let mut longer = schedule.clone();
        if longer.lasting[node] == ReuseScope::Slice && !plan.leaves.contains(&node) {
            longer.lasting[node] = ReuseScope::Run;
            assert_eq!(fault(longer), Err(Fault::Outlasts), "{}", plan.step_text(&plan.values[node]));
        }
    }
}
