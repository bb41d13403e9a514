//! Applies single mutations to correct schedules. The verifier must reject each mutant, or the mutant must yield the
//! same bits as the correct schedule. The proof of each rank alone must reject what the proof of all ranks rejects.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{Case, Rng, on_another_grid};
use einsum_dist::algorithm::{Algorithm, Reorder};
use einsum_dist::comm::{Endpoint, in_process::Fabric};
use einsum_dist::distribution::Bounds;
use einsum_dist::exec::{Factors, RankProgram, ResolvedKernel, RunOptions, Team, run};
use einsum_dist::memory::Slot;
use einsum_dist::plan::{AlgorithmName, PipelineChoice, Source};
use einsum_dist::schedule::collective::CollectiveAlgorithm;
use einsum_dist::schedule::verify::{self, Described, Spec, VerifyError};
use einsum_dist::schedule::{Accumulate, Action, Home, Schedule, Task, View, Work};
use einsum_dist::{Dtype, Machine, Plan, PlanOptions, Problem};
use ndarray::ArrayD;

const MUTATIONS: usize = 10_000;

/// Proves all ranks alone, and that any two that exchange messages agree on them, as [`verify::whole`] does together.
pub fn all_alone(ranks: &[Described], spec: &Spec) -> Result<(), VerifyError> {
    for described in ranks {
        verify::alone(described, spec)?;
        // Both ways, because either end may lack all messages.
        described.peers().into_iter().try_for_each(|peer| verify::agree(described, &ranks[peer], spec))?;
    }
    Ok(())
}

#[test]
fn every_mutation_is_rejected_or_harmless() {
    let mut rng = Rng::new(77);
    let mut pools = Pools::default();
    let mut tally: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut plans: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut tried, mut planned, mut proved_alone) = (0, 0, 0);
    while tried < MUTATIONS {
        let plan = random_plan(&mut rng);
        features(&plan).into_iter().for_each(|feature| *plans.entry(feature).or_default() += 1);
        let spec = plan.spec();
        let described: Vec<Described> = (0..plan.ranks()).map(|rank| plan.described(rank)).collect();
        let schedules: Vec<Schedule> = described.iter().map(|described| described.schedule.clone()).collect();
        let alone = described.iter().all(Described::is_complete) && all_alone(&described, &spec).is_ok();
        proved_alone += usize::from(alone);
        planned += 1;
        verify::whole(&schedules, &spec, None)
            .unwrap_or_else(|e| panic!("{e}: {}\n{:#?}", plan.explain(), schedules[e.rank]));
        let expected = execute(&schedules, &spec, &plan, &mut pools).unwrap();
        for _ in 0..20 {
            let mut mutant = described.clone();
            let Some(kind) = mutate(&mut rng, &mut mutant) else { continue };
            let rejected_alone = !alone || all_alone(&mutant, &spec).is_err();
            let mutant: Vec<Schedule> = mutant.into_iter().map(|described| described.schedule).collect();
            if mutant == schedules {
                continue;
            }
            tried += 1;
            if let Err(error) = verify::whole(&mutant, &spec, None) {
                *tally.entry((kind, "rejected")).or_default() += 1;
                assert!(rejected_alone, "`{kind}` is accepted alone: {error}: {}", plan.explain());
                assert!(!error.to_string().is_empty());
                continue;
            }
            let difference = || {
                let ranks = schedules.iter().zip(&mutant).filter(|(a, b)| a != b);
                ranks.map(|(a, b)| format!("{a:#?}\n=====\n{b:#?}")).collect::<String>()
            };
            match execute(&mutant, &spec, &plan, &mut pools) {
                Ok(got) if got == expected => *tally.entry((kind, "same bits")).or_default() += 1,
                Ok(_) => panic!("accepted `{kind}` with other bits: {}\n{}", plan.explain(), difference()),
                Err(error) => panic!("accepted `{kind}` fails: {error}: {}\n{}", plan.explain(), difference()),
            }
        }
    }
    println!("{tally:#?} {plans:#?}");
    let all = AlgorithmName::ALL.map(AlgorithmName::name).into_iter().chain(Reorder::ALL.map(Reorder::name));
    let ways = ["grid by rings", "grid by trees", "grid directly", "grid in place"];
    for feature in all.chain(ways).chain(["pipeline", "group", "redistribution", "copy for groups", "sum of groups"]) {
        assert!(plans.get(feature).is_some_and(|&plans| plans > 1), "no plans with {feature}");
    }
    assert!(proved_alone * 10 > planned * 8, "only {proved_alone} of {planned} are proved alone");
    let rejected: usize = tally.iter().filter(|((_, what), _)| *what == "rejected").map(|(_, n)| n).sum();
    assert!(rejected * 10 > tried * 7, "only {rejected} of {tried} were rejected");
}

/// If the proof of all ranks rejects a change of the schedule that represents a class, so does the proof of that rank
/// with all peers. The proof by classes compares up to four peers, which rarely accepts more.
#[test]
fn mutations_of_a_class_are_rejected() {
    let mut rng = Rng::new(2000);
    let (mut tried, mut missed) = (0, BTreeMap::new());
    while tried < 1000 {
        let plan = random_plan(&mut rng);
        let [step] = &plan.each_step()[..] else { continue };
        if has_equal_steps(&plan) {
            continue;
        }
        let (spec, representatives) = (plan.spec(), step.representatives());
        let correct: Vec<Described> = (0..plan.ranks()).map(|rank| plan.described(rank)).collect();
        if !correct.iter().all(Described::is_complete) {
            continue;
        }
        for _ in 0..10 {
            let one = representatives[rng.below(representatives.len())];
            let mut mutant = correct.clone();
            let kind = mutate(&mut rng, &mut mutant[one..=one]);
            let schedules: Vec<Schedule> = mutant.iter().map(|described| described.schedule.clone()).collect();
            if verify::whole(&schedules, &spec, None).is_ok() {
                continue;
            }
            tried += 1;
            let proved = |(number, &rank): (usize, &usize)| {
                let proved = verify::with_peers(&|rank| mutant[rank].clone(), &spec, rank, number);
                proved.is_some_and(|proved| proved.is_ok())
            };
            if representatives.iter().enumerate().all(proved) {
                let mut peers = correct[one].peers().into_iter();
                let agree = peers.all(|peer| verify::agree(&mutant[one], &mutant[peer], &spec).is_ok());
                assert!(!agree, "{kind:?} on rank {one} is accepted: {}", plan.explain());
                *missed.entry(kind).or_default() += 1;
            }
        }
    }
    let accepted: usize = missed.values().sum();
    assert!(accepted * 50 < tried, "{accepted} of {tried} are accepted: {missed:?}");
    println!("{accepted} of {tried} are accepted: {missed:?}");
}

/// Returns a random plan, which is either one contraction with a forced algorithm, or a tree with redistributions,
/// groups of ranks or a pipeline. A contraction sometimes uses a grid that the planner would not choose. The plan
/// overwrites the output or accumulates onto it.
/// Whether one of [`Plan::each_step`] may stand for several.
pub fn has_equal_steps(plan: &Plan) -> bool {
    let contractions = plan.values.iter().filter(|value| matches!(value.source, Source::Contract { .. })).count();
    plan.pipeline.is_none() && contractions > 1
}

fn random_plan(rng: &mut Rng) -> Plan {
    loop {
        if rng.below(8) == 0
            && let Some(plan) = between_groups(rng)
        {
            return plan;
        }
        let ranks = 1 + rng.below(6);
        let e = |rng: &mut Rng| 1 + rng.below(7);
        let algorithm = Some(AlgorithmName::ALL[rng.below(AlgorithmName::ALL.len())]).filter(|_| rng.below(4) > 0);
        let mut options = PlanOptions::default()
            .dtype(Dtype::Float32)
            .algorithm(algorithm)
            .accumulate(rng.below(2) == 0)
            .idle(rng.below(2) == 0)
            .reorder(Reorder::ALL[rng.below(4)]);
        // On links with a high latency, the planner assigns separate groups of ranks to subtrees.
        let slow = Machine { flops: 2e4, link_latency: 1e-3, ..Machine::new(ranks, 1) };
        let machine = if rng.below(2) == 0 { slow } else { Machine::new(ranks, 1) };
        let (expression, shapes) = if rng.below(3) > 0 {
            let case = Case::random(rng);
            if case.extents.iter().product::<usize>() > 1 << 12 {
                continue;
            }
            (case.expression(), vec![case.shape(&case.left), case.shape(&case.right)])
        } else {
            let (i, j, k, l) = (e(rng), e(rng), e(rng), e(rng));
            match rng.below(5) {
                0 => ("[ij,jk->ik],kl->li".to_owned(), vec![vec![i, j], vec![j, k], vec![k, l]]),
                1 => ("[ij,jk->ik]->k".to_owned(), vec![vec![i, j], vec![j, k]]),
                2 => ("[iij,jk->ik],kl->il".to_owned(), vec![vec![i, i, j], vec![j, k], vec![k, l]]),
                3 => {
                    let groups = 2;
                    options.pipeline = PipelineChoice::Of { batches: 1 + rng.below(i), groups };
                    options.algorithm = None;
                    ("[[ij,jk->ik],kl->il],lj->ij".to_owned(), vec![vec![i, j], vec![j, k], vec![k, l], vec![l, j]])
                }
                _ => {
                    options.algorithm = algorithm.filter(|_| rng.below(3) == 0);
                    ("[ij,jk->ik],[kl,lj->kj]->ij".to_owned(), vec![vec![i, j], vec![j, k], vec![k, l], vec![l, j]])
                }
            }
        };
        let shaped = Problem::parse(&expression).unwrap().shapes(&shapes).unwrap();
        let Ok(mut plan) = shaped.plan(&machine, &options) else { continue };
        let one = matches!(plan.output().source, Source::Contract { .. }) && plan.values.len() == 3;
        if one && options.algorithm == Some(AlgorithmName::Grid) {
            on_another_grid(rng, &mut plan);
        }
        return plan;
    }
}

/// Returns a step between groups of ranks that take disjoint sets of slices: the copy of an operand, or the sum of
/// results.
fn between_groups(rng: &mut Rng) -> Option<Plan> {
    let groups = 2 + rng.below(5);
    let machine = Machine::new(groups * (1 + rng.below(2)), 1);
    let extents: Vec<usize> = (0..4).map(|_| 3 + rng.below(5)).collect();
    let [a, b, c, i] = extents[..] else { unreachable!() };
    let shapes = [vec![a, i], vec![b, i], vec![c, i]];
    let shaped = Problem::parse("[ai,bi->abi],ci->c").unwrap().shapes(&shapes).unwrap();
    let options = PlanOptions::default().accumulate(rng.below(2) == 0).slice_groups(groups);
    let limited = |bytes: u64| shaped.plan(&machine, &options.clone().memory_limit(bytes)).ok();
    let plan = (1..8).rev().filter_map(|eighths| limited(4 * (a * b * i * eighths / 8 + 2 * i * (a + b + c)) as u64));
    let plan = plan.into_iter().find(|plan| plan.slice_groups > 1)?;
    if rng.below(2) == 0 { plan.combination() } else { Some(plan.spreads()?.swap_remove(rng.below(3))) }
}

/// Names of the optional features that a plan uses.
fn features(plan: &Plan) -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    found.extend(plan.pipeline.is_some().then_some("pipeline"));
    if plan.expression == "redistribute" {
        let is_sum = plan.operand(0).distribution.summands() > 1;
        found.push(if is_sum { "sum of groups" } else { "copy for groups" });
    }
    for value in &plan.values {
        match &value.source {
            Source::Contract { algorithm, group, .. } => {
                found.push(algorithm.name());
                let alone = group.as_ref().is_some_and(|group| group.len() < plan.ranks());
                found.extend((alone && plan.pipeline.is_none()).then_some("group"));
                if let Algorithm::Grid(grid) = algorithm {
                    found.push(match grid.algorithm {
                        CollectiveAlgorithm::Ring => "grid by rings",
                        CollectiveAlgorithm::Tree => "grid by trees",
                        CollectiveAlgorithm::Direct => "grid directly",
                    });
                    found.extend(grid.in_place.then_some("grid in place"));
                }
                if let Algorithm::Slicing(slicing) = algorithm {
                    found.push(slicing.chunks.order.name());
                }
            }
            Source::Redistribute { .. } => found.push("redistribution"),
            Source::Operand(_) | Source::Unary { .. } => {}
        }
    }
    found
}

/// Changes one property of one schedule, and returns a name for the change.
fn mutate(rng: &mut Rng, described: &mut [Described]) -> Option<&'static str> {
    let ranks = described.len();
    let Described { schedule, carried } = &mut described[rng.below(ranks)];
    let count = schedule.tasks.len();
    if count == 0 {
        return None;
    }
    let id = rng.below(count);
    match rng.below(9) {
        0 => {
            schedule.tasks.remove(id);
            carried.remove(id);
            for task in &mut schedule.tasks {
                task.after.retain(|&t| t != id);
                task.after.iter_mut().filter(|t| **t > id).for_each(|t| *t -= 1);
            }
            Some("task dropped")
        }
        1 => {
            let copy = schedule.tasks[id].clone();
            for task in &mut schedule.tasks {
                task.after.iter_mut().filter(|t| **t > id).for_each(|t| *t += 1);
            }
            let after = copy.after.iter().copied().chain([id]).collect();
            schedule.tasks.insert(id + 1, Task { after, ..copy });
            carried.insert(id + 1, carried[id].clone());
            Some("task doubled")
        }
        2 => {
            let view = pick(rng, &mut schedule.tasks[id])?;
            if view.bounds.is_empty() {
                return None;
            }
            let dim = rng.below(view.bounds.len());
            shift(rng, &mut view.bounds, dim);
            Some("region shifted")
        }
        3 => {
            let buffers = schedule.buffers.len();
            let view = pick(rng, &mut schedule.tasks[id])?;
            view.buffer = rng.below(buffers);
            Some("wrong buffer")
        }
        4 => {
            let after = &mut schedule.tasks[id].after;
            if after.is_empty() {
                return None;
            }
            after.remove(rng.below(after.len()));
            Some("early reuse")
        }
        5 => {
            let other = rng.below(count);
            let (a, b) = (schedule.tasks[id].action.clone(), schedule.tasks[other].action.clone());
            (schedule.tasks[id].action, schedule.tasks[other].action) = (b, a);
            carried.swap(id, other);
            Some("order swapped")
        }
        6 => {
            let other = rng.below(count);
            schedule.tasks.swap(id, other);
            carried.swap(id, other);
            Some("tasks swapped with edges")
        }
        7 => match &mut schedule.tasks[id].action {
            Action::Send { peer, .. } | Action::Recv { peer, .. } => {
                *peer = rng.below(ranks + 1);
                Some("wrong peer")
            }
            Action::Work(_) => None,
        },
        _ => {
            let Action::Work(work) = &mut schedule.tasks[id].action else { return None };
            let Work::Contract { accumulate, .. } = work.as_mut() else { return None };
            *accumulate = [Accumulate::Overwrite, Accumulate::Add, Accumulate::Beta][rng.below(3)];
            Some("wrong accumulation")
        }
    }
}

fn shift(rng: &mut Rng, bounds: &mut Bounds, dim: usize) {
    let range = &mut bounds[dim];
    match rng.below(4) {
        0 => *range = range.start + 1..range.end + 1,
        1 => *range = range.start.saturating_sub(1)..range.end.saturating_sub(1),
        2 => range.end += 1,
        _ => range.end = range.end.saturating_sub(1).max(range.start),
    }
}

fn pick<'a>(rng: &mut Rng, task: &'a mut Task) -> Option<&'a mut View> {
    let mut views: Vec<&mut View> = match &mut task.action {
        Action::Work(work) => match work.as_mut() {
            Work::Contract { left, right, out, .. } => vec![left, right, out],
            Work::Unary { input, out } | Work::Add { input, out } | Work::Update { input, out } => vec![input, out],
            Work::Fill { out } | Work::Scale { out, .. } => vec![out],
        },
        Action::Send { from: views, .. } | Action::Recv { into: views, .. } => views.iter_mut().collect(),
    };
    let at = rng.below(views.len());
    Some(views.swap_remove(at))
}

/// Pools of one worker each. All runs reuse these pools, because starting new threads for each run would take most of
/// the test's time.
#[derive(Default)]
struct Pools(Vec<rayon::ThreadPool>);

/// Runs the schedules of all ranks on random blocks, and returns the output blocks of all ranks.
fn execute(
    schedules: &[Schedule],
    spec: &Spec,
    plan: &Plan,
    pools: &mut Pools,
) -> Result<Vec<Option<ArrayD<f32>>>, String> {
    while pools.0.len() < schedules.len() {
        pools.0.push(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    }
    let fabric = Fabric::new(schedules.len(), None);
    let factors = Factors::new(1.5f32, -0.75);
    let results: Vec<Result<Option<ArrayD<f32>>, String>> = std::thread::scope(|scope| {
        let threads = schedules.iter().zip(&pools.0).map(|(schedule, pool)| {
            let fabric = fabric.clone();
            scope.spawn(move || {
                let rank = schedule.rank;
                let mut blocks: Vec<Option<ArrayD<f32>>> = schedule
                    .buffers
                    .iter()
                    .map(|buffer| {
                        let place = buffer.place.as_ref()?;
                        let operand = match buffer.home {
                            Home::Operand(index) => index as u32,
                            Home::Output => 99,
                            _ => return None,
                        };
                        let mut block = ArrayD::from_elem(buffer.extents.as_slice(), 0.0f32);
                        let shape = &spec.values[buffer.node].shape;
                        let bounds: Bounds =
                            place.region.dims().iter().map(|d| d.ranges().first().cloned().unwrap_or(0..0)).collect();
                        let bytes = einsum_dist::memory::bytes_of_mut(block.as_slice_mut().unwrap());
                        einsum_dist::io::random::fill_block(Dtype::Float32, 5, operand, shape, &bounds, bytes);
                        Some(block)
                    })
                    .collect();
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let verified = verify::own(schedule.clone(), spec).map_err(|e| e.to_string())?;
                    let contractor = ResolvedKernel::resolve(plan.kernel, plan.dtype).map_err(|e| e.to_string())?;
                    let program = RankProgram::compile(verified, spec, plan.dtype, contractor, 1);
                    let mut program = program.map_err(|e| e.to_string())?;
                    let blocks = schedule.buffers.iter().zip(&mut blocks).enumerate();
                    let slots = blocks.filter_map(|(id, (buffer, block))| match buffer.home {
                        Home::Operand(_) => Some((id, Slot::borrowed(&block.as_ref()?.view()))),
                        _ => Some((id, Slot::borrowed_mut(&mut block.as_mut()?.view_mut()))),
                    });
                    let slots = slots.collect();
                    let mut endpoint = Endpoint::InProcess(fabric.endpoint(rank));
                    let options = RunOptions { window: 3, ..RunOptions::default() };
                    let team = Team::Pool { pool, endpoint: &mut endpoint, on_failure: &mut |_| {} };
                    run(&mut program, slots, factors, &options, team).map_err(|e| e.to_string()).map(|_| ())
                }));
                let outcome = outcome.unwrap_or_else(|_| Err("panicked".to_owned()));
                if let Err(message) = &outcome {
                    fabric.fail(rank, message);
                }
                let output = schedule.buffers.iter().position(|buffer| buffer.home == Home::Output);
                outcome.map(|()| output.and_then(|at| blocks[at].take()))
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    results.into_iter().collect()
}
