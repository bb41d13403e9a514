//! Tests the timelines of runs and of simulated plans, and their traces. One trace is compared with `trace.golden`,
//! which `UPDATE_GOLDEN=1 cargo test timeline` rewrites.

pub mod arrows;

use einsum_dist::plan::{AlgorithmName, Noise};
use einsum_dist::schedule::{Action, Lane};
use einsum_dist::timeline::Timeline;
use einsum_dist::{Dtype, Machine, Operand, Plan, PlanOptions, Problem, Program, World};
use ndarray::ArrayD;

use arrows::arrows;

fn plan(expression: &str, shapes: &[Vec<usize>], machine: &Machine, options: PlanOptions) -> Plan {
    let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    shaped.plan(machine, &options.dtype(Dtype::Float64)).unwrap()
}

fn run(program: &mut Program<f64>, shapes: &[Vec<usize>]) -> Timeline {
    let operands: Vec<ArrayD<f64>> = shapes.iter().map(|shape| ArrayD::from_elem(shape.clone(), 0.5)).collect();
    let operands: Vec<&dyn Operand<f64>> = operands.iter().map(|operand| operand as _).collect();
    program.run(&operands).unwrap();
    program.timeline().unwrap().unwrap()
}

/// Number of tasks on all ranks, and number of receives among them.
fn tasks(plan: &Plan) -> (usize, usize) {
    let all: Vec<_> = (0..plan.ranks()).flat_map(|rank| plan.schedule(rank).tasks).collect();
    (all.len(), all.iter().filter(|task| matches!(task.action, Action::Recv { .. })).count())
}

/// Requires that spans are within the run, that the spans of each lane are in order of time, and that a span has bytes
/// if and only if it is a transfer.
#[track_caller]
fn sound(timeline: &Timeline) {
    for rank in 0..timeline.ranks {
        for lane in [Lane::Work, Lane::Send, Lane::Recv] {
            let of = |span: &&_| -> bool {
                matches!(span, einsum_dist::timeline::Span { rank: r, activity, .. } if *r == rank && activity.lane() == lane)
            };
            let spans: Vec<_> = timeline.spans.iter().filter(of).collect();
            assert!(spans.windows(2).all(|pair| pair[0].start <= pair[1].start), "{rank} {lane:?}");
            let within = |span: &einsum_dist::timeline::Span| {
                0.0 <= span.start && span.start <= span.end && span.end <= timeline.seconds * (1.0 + 1e-9) + 1e-9
            };
            assert!(spans.iter().all(|span| within(span) && (span.bytes > 0) == (lane != Lane::Work)), "{spans:?}");
        }
    }
    assert!((0.0..=1.0 + 1e-9).contains(&timeline.working_share()));
}

#[test]
fn a_small_one_as_text() {
    let machine =
        Machine { flops: 1e9, memory_bandwidth: 1e9, link_bandwidth: 1e9, link_latency: 1e-6, ..Machine::new(2, 2) };
    let options = PlanOptions::default().algorithm(AlgorithmName::RingMn);
    let timeline = plan("mk,kn->mn", &[vec![64, 64], vec![64, 64]], &machine, options).simulate().unwrap();
    let actual = timeline.trace();
    assert!(arrows(&actual, 2, 0.0) > 0);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/integration/timeline/trace.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap();
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "trace.golden, line {}; UPDATE_GOLDEN=1 rewrites it", number + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count());
}

#[test]
fn every_algorithm_is_traced_as_it_is_played_and_as_it_runs() {
    let shapes = [vec![3, 21, 13], vec![3, 13, 17]];
    for algorithm in AlgorithmName::ALL {
        for ranks in [1, 3, 4] {
            let options = PlanOptions::default().algorithm(algorithm);
            let plan = plan("cmk,ckn->mcn", &shapes, &Machine::new(ranks, 2), options.idle(true));
            let (all, transfers) = tasks(&plan);
            let simulated = plan.simulate().unwrap();
            let mut program = World::in_process(ranks).compile::<f64>(&plan).unwrap();
            assert_eq!(program.timeline().unwrap(), None);
            let executed = run(&mut program, &shapes);
            for timeline in [&simulated, &executed] {
                sound(timeline);
                assert_eq!((timeline.spans.len(), timeline.slices), (all, 1), "{} on {ranks}", algorithm.name());
                assert_eq!(arrows(&timeline.trace(), ranks, 0.0), transfers, "{} on {ranks}", algorithm.name());
            }
            assert_eq!((simulated.hosts.len(), executed.hosts.len(), executed.clock_error), (0, ranks, 0.0));
        }
    }
}

#[test]
fn without_overlap_nothing_is_hidden() {
    for algorithm in AlgorithmName::ALL {
        for ranks in [1, 3, 4] {
            let options = PlanOptions::default().algorithm(algorithm).idle(true);
            let machine = Machine { link_bandwidth: 1e7, ..Machine::new(ranks, 1) };
            let plan = plan("cmk,ckn->mcn", &[vec![3, 21, 13], vec![3, 13, 17]], &machine, options);
            let (both, turns) = (plan.simulate().unwrap(), plan.simulate_with_noise(false, Noise::default()).unwrap());
            sound(&turns);
            assert_eq!(turns.spans.len(), tasks(&plan).0, "{} on {ranks}", algorithm.name());
            assert!(turns.hidden_share().is_none_or(|share| share < 1e-9), "{} on {ranks}", algorithm.name());
            assert!(turns.seconds >= both.seconds * (1.0 - 1e-9), "{} on {ranks}", algorithm.name());
        }
    }
}

#[test]
fn slices_and_what_runs_leave_out() {
    let shapes = [vec![12, 14], vec![14, 16], vec![12, 16]];
    for ranks in [1, 2, 3] {
        let machine = Machine::new(ranks, 1);
        let shaped = Problem::parse("[ij,jk->ijk],ik->ijk").unwrap().shapes(&shapes).unwrap();
        let limited = |memory_limit| {
            let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(memory_limit).in_parts(true);
            shaped.plan(&machine, &options).ok()
        };
        let whole = limited(None).unwrap().report(None).peak_bytes.planned;
        let mut plans = (1..20).filter_map(|twentieth| limited(Some(whole * (20 - twentieth) / 20)));
        let plan = plans.find(|plan| plan.slice_count() > 1).unwrap();
        let mut program = World::in_process(ranks).compile::<f64>(&plan).unwrap();
        let timeline = run(&mut program, &shapes);
        sound(&timeline);
        assert_eq!(timeline.slices, plan.slice_count());
        let (all, transfers) = tasks(&plan);
        let (count, arrows) = (timeline.spans.len(), arrows(&timeline.trace(), ranks, 0.0));
        // Slices after the first omit the tasks of values that are reused.
        assert!(count > all.max(plan.slice_count()) && count <= all * plan.slice_count(), "{count} of {all}");
        assert!(arrows >= transfers && arrows <= transfers * plan.slice_count(), "{arrows} of {transfers}");
        // Idle times and hidden shares are accumulated over all slices.
        for rank in program.measured().unwrap() {
            assert!(rank.idle_seconds >= 0.0 && rank.hidden_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
        let all_again = run(&mut program, &shapes);
        assert_eq!((all_again.spans.len(), all_again.slices), (count, timeline.slices));
    }
    let shapes = [vec![30, 20], vec![20, 25], vec![25, 10]];
    let constant = PlanOptions::default().constant(vec![0, 1]);
    let plan = plan("[ij,jk->ik],kl->il", &shapes, &Machine::new(2, 1), constant);
    let mut program = World::in_process(2).compile::<f64>(&plan).unwrap();
    let [first, second] = [run(&mut program, &shapes), run(&mut program, &shapes)];
    assert!(second.spans.len() < first.spans.len() && second.spans.iter().all(|span| span.end > 0.0));
    arrows(&second.trace(), 2, 0.0);
}

/// The seconds reported for a step must cover all slices, each of which runs several tasks for the step.
#[test]
fn seconds_of_a_step_are_of_all_slices() {
    let (ranks, shapes) = (3, [vec![120, 90], vec![90, 60]]);
    let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&shapes).unwrap();
    let limited = |memory_limit| {
        let algorithm = Some(AlgorithmName::RingMn);
        let options =
            PlanOptions::default().dtype(Dtype::Float64).algorithm(algorithm).memory_limit(memory_limit).in_parts(true);
        shaped.plan(&Machine::new(ranks, 1), &options).ok()
    };
    let whole = limited(None).unwrap().report(None).peak_bytes.planned;
    let mut plans = (1..40).filter_map(|fortieth| limited(Some(whole * (40 - fortieth) / 40)));
    let plan = plans.find(|plan| plan.slice_count() > 2).unwrap();
    let works = |rank| plan.schedule(rank).tasks.iter().filter(|task| task.action.lane() == Lane::Work).count();
    assert!((0..ranks).all(|rank| works(rank) > 1), "{}", plan.explain());
    let mut program = World::in_process(ranks).compile::<f64>(&plan).unwrap();
    let timeline = run(&mut program, &shapes);
    assert_eq!(timeline.slices, plan.slice_count());
    for (rank, measured) in program.measured().unwrap().iter().enumerate() {
        // For each slice, the interval from its first work, or from the end of its first transfer, to its end.
        let mut slices = vec![(f64::INFINITY, 0.0f64); plan.slice_count()];
        let mut seen = std::collections::HashMap::new();
        for span in timeline.spans.iter().filter(|span| span.rank == rank) {
            let slice = seen.entry(span.task).or_insert(0);
            let (begin, end) = &mut slices[*slice];
            *begin = begin.min(if span.activity.lane() == Lane::Work { span.start } else { span.end });
            *end = end.max(span.end);
            *slice += 1;
        }
        assert!(seen.values().all(|&count| count == plan.slice_count()), "left out: {}", plan.explain());
        let (took, wanted) = (measured.seconds.iter().sum::<f64>(), slices.iter().map(|(a, b)| b - a).sum::<f64>());
        assert!((took - wanted).abs() < 1e-7, "rank {rank}: {took} s, {wanted} s in {slices:?}");
    }
}

/// A product of matrices as a balanced tree in bracket notation.
fn balanced(from: u32, to: u32) -> String {
    let label = |at: u32| char::from_u32(0x4e00 + at).unwrap();
    if to == from + 1 {
        return format!("{}{}", label(from), label(to));
    }
    let middle = from.midpoint(to);
    format!("[{},{}->{}{}]", balanced(from, middle), balanced(middle, to), label(from), label(to))
}

#[test]
fn what_runs_side_by_side_is_on_different_tracks() {
    let shapes = vec![vec![40, 40]; 43];
    let tree = balanced(0, 43);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let plan = plan(&tree[1..tree.len() - 1], &shapes, &Machine::new(1, 2), PlanOptions::default());
        assert!(!plan.schedule(0).sections.is_empty(), "{}", plan.explain());
        let timeline = run(&mut World::single().compile::<f64>(&plan).unwrap(), &shapes);
        sound(&timeline);
        let workers: Vec<Option<usize>> = timeline.spans.iter().map(|span| span.worker).collect();
        for worker in [None, Some(0), Some(1)] {
            assert!(workers.contains(&worker), "{worker:?} in {workers:?}");
        }
        let trace = timeline.trace();
        assert_eq!((timeline.workers, arrows(&trace, 1, 0.0)), (2, 0));
        let alone = workers.iter().flatten().count();
        assert_eq!(trace.matches("\"ph\":\"X\"").count(), 2 * (workers.len() - alone) + alone);
    });
}
