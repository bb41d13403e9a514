//! Tests plans in which groups of ranks take disjoint sets of slices. The results must be those of one rank, the bytes
//! must be the planned ones, and thousands of ranks must be planned and proved quickly.

use std::time::{Duration, Instant};

use crate::common::Rng;
use einsum_dist::distribution::Distribution;
use einsum_dist::plan::{Slice, Source};
use einsum_dist::schedule::ReuseScope;
use einsum_dist::{DistTensor, Dtype, Element, Machine, Operand, Plan, PlanOptions, Problem, World};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

/// Expressions whose intermediates are larger than operands and result. Slices cut summed dimensions, dimensions of the
/// result, or both; extents do not divide by most numbers of groups.
const CASES: &[(&str, &[&[usize]])] = &[
    ("[ai,bi->abi],ci->c", &[&[9, 5], &[8, 5], &[7, 5]]),
    ("[ab,bc->abc],[cd,de->cde]->ae", &[&[6, 5], &[5, 7], &[7, 3], &[3, 6]]),
    ("[a,b->ab],ab->", &[&[17], &[19], &[17, 19]]),
    ("[xa,xb->xab],[xc,xd->xcd]->xad", &[&[3, 6], &[3, 7], &[3, 5], &[3, 4]]),
    ("[ab,cd->abcd],abcd->dab", &[&[3, 4], &[5, 4], &[3, 4, 5, 4]]),
    ("[ai,bi->abi],[ci,di->cdi]->ad", &[&[7, 3], &[5, 3], &[6, 3], &[5, 3]]),
];

fn cases() -> Vec<(String, Vec<Vec<usize>>)> {
    let written = CASES.iter().map(|(expression, shapes)| {
        ((*expression).to_owned(), shapes.iter().map(|shape| shape.to_vec()).collect::<Vec<_>>())
    });
    let mut cases: Vec<(String, Vec<Vec<usize>>)> = written.collect();
    let mut rng = Rng::new(7);
    for _ in 0..6 {
        // A ring of four matrices whose first contraction is an outer product.
        let extents: Vec<usize> = (0..6).map(|_| 2 + rng.below(6)).collect();
        let [a, b, c, d, e, f] = extents[..] else { unreachable!() };
        let output = ["af", "fa", "", "abcf"][rng.below(4)];
        cases.push((
            format!("[ab,cd->abcd],[[be,df->bdef],ce->bdcef]->{output}"),
            vec![vec![a, b], vec![c, d], vec![b, e], vec![d, f], vec![c, e]],
        ));
    }
    cases
}

fn plan(expression: &str, shapes: &[Vec<usize>], ranks: usize, options: &PlanOptions) -> Option<Plan> {
    let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
    Problem::parse(expression).unwrap().shapes(shapes).unwrap().plan(&Machine::new(ranks, workers), options).ok()
}

/// A plan with this number of groups, for one of several memory limits.
fn grouped(expression: &str, shapes: &[Vec<usize>], (ranks, groups): (usize, usize), dtype: Dtype) -> Option<Plan> {
    let options = PlanOptions::default().dtype(dtype);
    let needed = plan(expression, shapes, 1, &options)?.peak_bytes(0);
    let limits = [90, 70, 55, 40, 30, 20].into_iter().map(|percent| needed * percent / 100);
    let options = options.slice_groups(groups);
    let planned = |limit| plan(expression, shapes, ranks, &options.clone().memory_limit(limit));
    limits.filter_map(planned).find(|plan| plan.slice_groups > 1)
}

/// Elements are small integers, so that sums are exact in every order.
fn whole_numbers<T: Element>(shape: &[usize], seed: usize) -> ArrayD<T> {
    let number = |place: usize| ((place * 7 + seed * 5 + 3) % 5) as f64 - 2.0;
    let elements = (0..shape.iter().product()).map(|place| T::from_f64(number(place), number(place + 2))).collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements).unwrap()
}

/// Proves and runs a plan, and compares results, bytes and memory.
fn check<T: Element>(expression: &str, shapes: &[Vec<usize>], plan: &Plan) {
    let what = plan.explain().to_string();
    plan.verify().unwrap_or_else(|error| panic!("{error}\n{what}"));
    plan.verify_by_classes().unwrap_or_else(|error| panic!("{error}\n{what}"));
    runs::<T>(expression, shapes, plan);
    let report = plan.report(None);
    assert_eq!((report.slices, report.slice_groups), (plan.slice_count(), plan.slice_groups));
}

/// Compares results with those of one rank, and measurements with the plan.
fn runs<T: Element>(expression: &str, shapes: &[Vec<usize>], plan: &Plan) {
    let what = plan.explain().to_string();
    let operands: Vec<ArrayD<T>> = shapes.iter().enumerate().map(|(at, shape)| whole_numbers(shape, at)).collect();
    let borrowed: Vec<&dyn Operand<T>> = operands.iter().map(|operand| operand as _).collect();
    let alone = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    let mut alone = World::single().prepare::<T>(&alone, 1, &PlanOptions::default()).unwrap();
    let world = World::in_process(plan.ranks());
    let mut program = world.compile::<T>(plan).unwrap();
    let prior = whole_numbers::<T>(&plan.output_shape(), 9);
    for (run, beta) in [0.0, 0.0, -1.0, 0.0].into_iter().enumerate() {
        let (alpha, beta) = (T::from_f64(2.0, 1.0), T::from_f64(beta, 0.0));
        let (mut want, mut got) = (prior.clone(), prior.clone());
        alone.run_into(alpha, &borrowed, beta, &mut want).unwrap();
        program.run_into(alpha, &borrowed, beta, &mut got).unwrap();
        assert_eq!(got, want, "run {run} of {what}");
        let measured = program.measured().unwrap();
        for (rank, measured) in measured.iter().enumerate() {
            let planned = plan.bytes_received(rank);
            assert_eq!(measured.received, planned, "bytes of rank {rank} in run {run} of {what}");
            let by_link = measured.by_link.same_node + measured.by_link.other_nodes;
            assert_eq!(by_link, planned.iter().sum::<u64>());
            if run == 0 {
                assert!(measured.peak_bytes <= plan.peak_bytes(rank), "memory of rank {rank} in {what}");
            }
        }
        let timeline = program.timeline().unwrap().unwrap();
        assert_eq!((timeline.slices, timeline.ranks), (plan.slice_rounds(), plan.ranks()), "{what}");
    }
}

#[test]
fn groups_compute_what_one_rank_computes() {
    let (mut tested, mut uneven, mut several) = (0, 0, 0);
    for (at, (expression, shapes)) in cases().iter().enumerate() {
        for ranks in 2..=8 {
            for groups in 2..=ranks {
                let dtype =
                    [Dtype::Float64, Dtype::Float32, Dtype::Complex64, Dtype::Complex128][(at + ranks + groups) % 4];
                let Some(plan) = grouped(expression, shapes, (ranks, groups), dtype) else { continue };
                tested += 1;
                uneven += usize::from(plan.slice_count() % plan.slice_groups > 0);
                several += usize::from(plan.ranks_per_group() > 1);
                match dtype {
                    Dtype::Float64 => check::<f64>(expression, shapes, &plan),
                    Dtype::Float32 => check::<f32>(expression, shapes, &plan),
                    Dtype::Complex64 => check::<Complex<f32>>(expression, shapes, &plan),
                    _ => check::<Complex<f64>>(expression, shapes, &plan),
                }
            }
        }
    }
    assert!(
        tested > 40 && uneven > 10 && several > 10,
        "{tested} plans, {uneven} uneven, {several} with larger groups"
    );
}

#[test]
fn copies_of_constant_operands_are_kept_until_the_program_is_renewed() {
    let (expression, shapes) = ("[ai,bi->abi],ci->c", [vec![9, 5], vec![8, 5], vec![7, 5]]);
    let needed = plan(expression, &shapes, 1, &PlanOptions::default()).unwrap().peak_bytes(0);
    let options = PlanOptions::default().constant(vec![0, 2]).memory_limit(needed * 6 / 10).slice_groups(2);
    let plan = plan(expression, &shapes, 4, &options).unwrap();
    assert_eq!(plan.slice_groups, 2, "{}", plan.explain());
    let mut program = World::in_process(4).compile::<f32>(&plan).unwrap();
    let mut operands: Vec<ArrayD<f32>> =
        shapes.iter().enumerate().map(|(at, shape)| whole_numbers(shape, at)).collect();
    let mut bytes = Vec::new();
    for changed in [None, Some(1), Some(0)] {
        if let Some(changed) = changed {
            operands[changed].mapv_inplace(|element| element * 2.0 + 1.0);
        }
        if changed == Some(0) {
            program.renew();
        }
        let borrowed: Vec<&dyn Operand<f32>> = operands.iter().map(|operand| operand as _).collect();
        let want = einsum_dist::einsum(expression, &borrowed).unwrap();
        assert_eq!(program.run(&borrowed).unwrap(), want, "{changed:?} has changed");
        bytes.push(program.measured().unwrap().iter().map(|rank| rank.received.iter().sum::<u64>()).sum::<u64>());
    }
    assert!(bytes[1] < bytes[0] && bytes[2] == bytes[0], "{bytes:?}");
}

/// Changes one property of plans with groups. Each change must be rejected, or leave the result as it was.
#[test]
fn faults_in_copies_slices_and_sums_are_found() {
    let (mut rejected, mut harmless) = (0, 0);
    for (expression, shapes) in cases() {
        let Some(plan) = grouped(&expression, &shapes, (4, 2), Dtype::Float64) else { continue };
        let last = plan.values.len() - 1;
        let mut mutants = Vec::new();
        for id in plan.operands..=last {
            let shape = plan.whole_shape(&plan.values[id]);
            let distributions =
                [Distribution::replicated(2), Distribution::single(), Distribution::single().moved(0, 1)];
            for distribution in distributions {
                let mut mutant = plan.clone();
                mutant.values[id].distribution = distribution;
                mutants.push(mutant);
            }
            for input in 0..id {
                let mut mutant = plan.clone();
                let same = plan.whole_shape(&plan.values[input]) == shape;
                // What steps with one input are made from is part of the specification.
                match &mut mutant.values[id].source {
                    Source::Redistribute { input: old } if !same || *old != input => *old = input,
                    Source::Contract { left, .. } if input < plan.operands => *left = input,
                    _ => continue,
                }
                mutants.push(mutant);
            }
        }
        mutants.push(Plan {
            slice_groups: 4,
            slices: plan.slices[..1].iter().map(|slice| Slice { extent: 2 * slice.piece, ..*slice }).collect(),
            ..plan.clone()
        });
        for mutant in mutants.into_iter().filter(|mutant| *mutant != plan) {
            let found = std::panic::catch_unwind(|| mutant.verify());
            match found {
                Ok(Ok(())) => {
                    harmless += 1;
                    runs::<f64>(&expression, &shapes, &mutant);
                }
                _ => rejected += 1,
            }
        }
    }
    assert!(rejected > 100, "{rejected} rejected, {harmless} harmless");
}

/// A network whose largest intermediate has 2^36 elements.
fn large(ranks: usize, groups: Option<usize>) -> Plan {
    let shapes = vec![vec![64, 64]; 5];
    let options = PlanOptions::default().dtype(Dtype::Complex64).memory_limit(8 << 20).slice_groups(groups);
    plan("[[ab,cd->abcd],ef->abcdef],[ac,bd->acbd]->ef", &shapes, ranks, &options).unwrap()
}

#[test]
fn results_repeat_bit_by_bit() {
    let shapes = [vec![40, 6], vec![300, 6], vec![300, 2], vec![2, 300]];
    let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(60_000).slice_groups(5);
    let plan = plan("[ai,bi->abi],[bc,cb->bc]->ac", &shapes, 5, &options);
    let plan = plan.unwrap();
    assert_eq!(plan.slice_groups, 5, "{}", plan.explain());
    let world = World::in_process(5);
    let mut program = world.compile::<f64>(&plan).unwrap();
    let tensor = |at: usize| {
        DistTensor::<f64>::random(&world, &plan.operand_shape(at), &plan.operand(at).distribution, 3, at as u32)
    };
    let tensors: Vec<DistTensor<f64>> = (0..4).map(tensor).collect();
    let tensors: Vec<&DistTensor<f64>> = tensors.iter().collect();
    let mut results = Vec::new();
    for _ in 0..4 {
        let mut out = DistTensor::zeros(&world, &plan.output_shape(), &plan.output().distribution);
        program.run_dist(1.0, &tensors, 0.0, &mut out).unwrap();
        results.push(out.gather(&world).unwrap().mapv(f64::to_bits));
    }
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn thousands_of_ranks_are_planned_and_proved_quickly() {
    for ranks in [1_024, 10_000] {
        let started = Instant::now();
        let plan = large(ranks, None);
        let planned = started.elapsed();
        assert!(plan.slice_groups > 1, "{}", plan.explain());
        plan.verify_by_classes().unwrap();
        println!("{ranks} ranks: {planned:?}, {:?}\n{}", started.elapsed(), plan.explain());
        assert!(started.elapsed() < Duration::from_secs(if cfg!(debug_assertions) { 120 } else { 20 }));
        // Every step between groups runs once.
        let copies =
            plan.values.iter().filter(|value| matches!(value.source, Source::Redistribute { input } if input < 4));
        assert!(copies.into_iter().all(|value| value.lasts == ReuseScope::Run));
    }
}

#[test]
fn the_printed_plan_shows_groups_copies_and_sums() {
    let shapes = [vec![40, 6], vec![300, 6], vec![300, 2], vec![2, 300]];
    let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(60_000).slice_groups(2);
    let plan = plan("[ai,bi->abi],[bc,cb->bc]->ac", &shapes, 5, &options).unwrap();
    let text = plan.explain().to_string();
    let rows: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.starts_with("fingerprint")).collect();
    let golden = include_str!("slice_groups.golden");
    assert_eq!(rows.join("\n") + "\n", golden, "{text}");
}

#[test]
fn errors_state_the_given_limit() {
    let shapes = [vec![20, 5], vec![400, 5], vec![400, 1]];
    let shaped = Problem::parse("[ak,bk->ab],bd->ad").unwrap().shapes(&shapes).unwrap();
    let refused = (9_000..24_000).step_by(1_000).filter(|&limit| {
        let planned = shaped.plan(&Machine::new(3, 1), &PlanOptions::default().memory_limit(limit).slice_groups(3));
        let Err(error) = planned else { return false };
        assert!(error.to_string().contains(&format!("more than the memory limit of {limit}, ")), "{error}");
        true
    });
    assert!((1..15).contains(&refused.count()));
}

/// A closed network of tensors with three neighbours each.
fn regular(rng: &mut Rng, tensors: usize) -> String {
    let mut terms = vec![Vec::new(); tensors];
    for edge in 0..tensors * 3 / 2 {
        for _ in 0..2 {
            let least = terms.iter().map(Vec::len).min().unwrap();
            let free: Vec<usize> = (0..tensors).filter(|&at| terms[at].len() == least).collect();
            terms[free[rng.below(free.len())]].push(format!("e{edge}"));
        }
    }
    terms.iter().map(|term| format!("[{}]", term.join(","))).collect::<Vec<_>>().join(",") + "->[]"
}

#[test]
fn several_ranks_have_the_order_and_slices_of_one() {
    let mut rng = Rng::new(3);
    for (tensors, extent) in [(30, 4), (40, 3), (44, 4), (60, 2), (80, 2)] {
        let shaped = Problem::parse(&regular(&mut rng, tensors)).unwrap().shapes(&vec![vec![extent; 3]; tensors]);
        let shaped = shaped.unwrap();
        let plan = |ranks: usize, limit: Option<u64>| {
            // Ranks compete for memory and cores.
            let share = 1.0 / ranks as f64;
            let machine = Machine { flops: 2e11 * share, memory_bandwidth: 3e10 * share, ..Machine::new(ranks, 1) };
            shaped.plan(&machine, &PlanOptions::default().dtype(Dtype::Float32).runs(200).memory_limit(limit)).unwrap()
        };
        // Every group computes what all slices share, at the same time.
        let times = |plan: &Plan, lasts| if lasts == ReuseScope::Slice { 1.0 } else { plan.slice_groups as f64 };
        let work = |plan: &Plan| -> f64 { plan.values.iter().map(|v| plan.gflop(v) / times(plan, v.lasts)).sum() };
        let needed = plan(1, None).peak_bytes(0);
        let operands = (tensors * 4 * extent * extent * extent) as u64;
        for limit in [needed / 4, needed / 16].map(|limit| limit.max(operands * 3 / 2)) {
            let one = plan(1, Some(limit));
            for ranks in [2, 4] {
                let several = plan(ranks, Some(limit));
                let work = work(&several) / work(&one);
                // Groups can need more slices than one rank.
                let most = if one.slice_count() < several.slice_groups { 1.25 } else { 1.05 };
                assert!((0.95..most).contains(&work), "{work} on {ranks} ranks, {limit} bytes: {}", several.explain());
            }
        }
    }
}
