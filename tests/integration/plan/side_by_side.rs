//! Tests branches of small steps that run concurrently on the workers of a rank. Results must be the same as on one
//! worker, the measured memory must equal the planned memory, and the verifier must find conflicts between branches.

use einsum_dist::plan::PathChoice;
use einsum_dist::schedule::verify::{self, Fault};
use einsum_dist::schedule::{Home, Section};
use einsum_dist::{Dtype, Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::{ArrayD, IxDyn};

/// A product of matrices as a balanced tree that contracts neighbours first.
fn balanced(matrices: usize, extent: usize) -> (String, Vec<Vec<usize>>) {
    let label = |at: usize| char::from_u32(0x4e00 + at as u32).unwrap();
    let mut level: Vec<(String, usize, usize)> =
        (0..matrices).map(|at| (format!("{}{}", label(at), label(at + 1)), at, at + 1)).collect();
    while level.len() > 1 {
        let last = level.len() == 2;
        let joined = level.chunks(2).map(|pair| match pair {
            [(left, from, _), (right, _, to)] => {
                let text = format!("{left},{right}->{}{}", label(*from), label(*to));
                (if last { text } else { format!("[{text}]") }, *from, *to)
            }
            _ => pair[0].clone(),
        });
        level = joined.collect();
    }
    (level.remove(0).0, vec![vec![extent; 2]; matrices])
}

fn operand(seed: usize, shape: &[usize]) -> ArrayD<f64> {
    let volume = shape.iter().product::<usize>();
    let elements = (0..volume).map(|place| ((place * 7 + seed * 5 + seed * place) % 3) as f64 - 1.0).collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements).unwrap()
}

fn plan(expression: &str, shapes: &[Vec<usize>], workers: usize, options: PlanOptions) -> Plan {
    let options = options.dtype(Dtype::Float64);
    Problem::parse(expression).unwrap().shapes(shapes).unwrap().plan(&Machine::new(1, workers), &options).unwrap()
}

/// Runs the plan several times in a pool of `workers` threads, and compares the results with those of one worker.
fn check(expression: &str, shapes: &[Vec<usize>], workers: usize, options: &PlanOptions) -> Plan {
    let what = format!("{expression} with {workers} workers");
    let operands: Vec<ArrayD<f64>> = shapes.iter().enumerate().map(|(at, shape)| operand(at, shape)).collect();
    let borrowed: Vec<&dyn Operand<f64>> = operands.iter().map(|operand| operand as _).collect();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let alone = plan(expression, shapes, 1, options.clone());
    assert!(alone.branches.is_empty());
    let want = pool(1).install(|| World::single().compile::<f64>(&alone).unwrap().run(&borrowed).unwrap());
    let planned = pool(workers).install(|| plan(expression, shapes, workers, options.clone()));
    planned.verify().unwrap_or_else(|error| panic!("{what}: {error}\n{}", planned.explain()));
    assert_eq!(planned.path, alone.path, "{what}");
    pool(workers).install(|| {
        let mut program = World::single().compile::<f64>(&planned).unwrap();
        for _ in 0..3 {
            assert_eq!(program.run(&borrowed).unwrap(), want, "{what}");
            let measured = program.measured().unwrap()[0].peak_bytes;
            assert_eq!(measured, planned.report(None).peak_bytes.planned, "{what}");
        }
        let mut out = want.clone();
        program.run_into(2.0, &borrowed, -1.0, &mut out).unwrap();
        assert_eq!(out, want, "{what}");
    });
    planned
}

#[test]
fn balanced_trees_of_small_products() {
    for (matrices, extent) in [(2, 32), (200, 1), (190, 4), (61, 48), (43, 40)] {
        let (expression, shapes) = balanced(matrices, extent);
        for workers in [1, 2, 3, 5] {
            let plan = check(&expression, &shapes, workers, &PlanOptions::default());
            assert_eq!(
                plan.branches.len(),
                if workers > 1 && matrices > 2 && extent >= 40 { workers } else { 0 },
                "{}",
                plan.explain()
            );
        }
    }
}

/// Tests trees with subtrees of unary steps, with large steps above small ones, and with steps of all sizes.
#[test]
fn other_trees() {
    let many = |text: &str, times: usize| vec![text; times].join(",");
    // Each bracket yields a scalar.
    let traces = format!("{},ij->ij", many("[aa,ab,bc,cc->]", 12));
    let trace = [vec![240, 240], vec![240, 240], vec![240, 240], vec![240, 240]];
    let mut shapes: Vec<Vec<usize>> = (0..12).flat_map(|_| trace.clone()).collect();
    shapes.push(vec![4, 5]);
    for path in [PathChoice::Auto, PathChoice::LeftToRight] {
        let options = PlanOptions::default().path(path);
        for workers in [2, 4] {
            let plan = check(&traces, &shapes, workers, &options);
            assert!(plan.branches.len() > 1, "{}", plan.explain());
        }
    }
    // The large contractions also sum the dimensions that only one operand has, so no separate steps remain for
    // branches.
    let sums = "amx,mby,bnz,nkw->ak";
    let shapes = [[40, 130, 20], [130, 50, 20], [50, 140, 20], [140, 60, 20]].map(Vec::from);
    for workers in [2, 3] {
        let explained = check(sums, &shapes, workers, &PlanOptions::default()).explain().to_string();
        assert!(!explained.contains("lanes"), "{explained}");
    }
    let large = format!("[{}->xy],[{}->yz]->xz", "xa,ab,bc,cy", "yd,de,ef,fz");
    let shapes = [[160, 10], [10, 12], [12, 9], [9, 150], [150, 11], [11, 13], [13, 12], [12, 170]].map(Vec::from);
    check(&large, &shapes, 3, &PlanOptions::default());
}

#[test]
fn with_constants_and_a_limit() {
    let (expression, shapes) = balanced(50, 40);
    let constant = (0..30).collect();
    let plan = check(&expression, &shapes, 3, &PlanOptions::default().constant(constant));
    assert_eq!(plan.branches.len(), 3);
    // Under a limit that is too small for branches, the steps run in sequence.
    let alone = plan_bytes(&self::plan(&expression, &shapes, 1, PlanOptions::default()));
    let limited = check(&expression, &shapes, 3, &PlanOptions::default().memory_limit(alone));
    assert!(limited.branches.is_empty() && plan_bytes(&limited) <= alone);
}

fn plan_bytes(plan: &Plan) -> u64 {
    plan.report(None).peak_bytes.planned
}

#[test]
fn the_verifier_knows_what_may_meet() {
    let (expression, shapes) = balanced(50, 40);
    let plan = plan(&expression, &shapes, 2, PlanOptions::default());
    let fault = |schedule| verify::own(schedule, &plan.spec()).map(|_| ()).map_err(|error| error.fault);
    let schedule = plan.schedule(0);
    assert_eq!(fault(schedule.clone()), Ok(()));
    let Section { branches } = schedule.sections[0].clone();
    assert_eq!(branches.len(), 2);
    // These branches overlap, leave a gap, or end after the last task.
    for wrong in [
        vec![branches[0].clone(), branches[0].end - 1..branches[1].end],
        vec![branches[0].clone(), branches[0].end + 1..branches[1].end],
        vec![branches[0].clone(), branches[0].end..schedule.tasks.len() + 1],
    ] {
        let mut changed = schedule.clone();
        changed.sections[0].branches = wrong;
        assert_eq!(fault(changed), Err(Fault::Section));
    }
    // The last product of branch 0 is moved to branch 1, where it reads a value that branch 0 computes concurrently.
    let mut changed = schedule.clone();
    changed.sections[0].branches = vec![branches[0].start..branches[0].end - 1, branches[0].end - 1..branches[1].end];
    assert!(fault(changed).is_err());
    // A buffer of branch 1 has the address of a buffer of branch 0.
    let written = |task: usize| schedule.tasks[task].action.writes()[0].buffer;
    let (one, other) = (written(branches[0].start), written(branches[1].start));
    assert!([one, other].iter().all(|&buffer| schedule.buffers[buffer].home == Home::Arena));
    let mut changed = schedule.clone();
    changed.offsets[other] = changed.offsets[one];
    assert!(matches!(fault(changed), Err(Fault::Shared { .. })));
}
