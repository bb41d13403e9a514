//! Verifies the schedules of every algorithm without data, on 1 to 64 ranks.
use std::collections::{BTreeMap, BTreeSet};

use super::mutation::{all_alone, has_equal_steps};
use crate::common::Rng;
use einsum_dist::plan::{AlgorithmName, Source, Step};
use einsum_dist::schedule::verify::{Described, follow};
use einsum_dist::schedule::{Accumulate, Action, Schedule, Work};
use einsum_dist::{Machine, Plan, PlanOptions, Problem};
use rayon::prelude::*;

/// The algorithms that run on this number of ranks. Each of them applies to every contraction that has dimensions of
/// all four kinds.
fn algorithms(ranks: usize) -> impl Iterator<Item = AlgorithmName> {
    AlgorithmName::ALL.into_iter().filter(move |algorithm| algorithm.ranks().allows(ranks))
}

fn check(expression: &str, shapes: &[Vec<usize>], ranks: usize, options: &PlanOptions) {
    let plan = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    let plan = plan.plan(&Machine::new(ranks, 1), options).unwrap();
    if let Err(error) = plan.verify() {
        panic!("{expression} {shapes:?} on {ranks}: {error}\n{}\n{:#?}", plan.explain(), plan.schedule(error.rank));
    }
}

#[test]
fn every_algorithm_verifies() {
    for ranks in 1..=64 {
        for accumulate in [false, true] {
            let all =
                [[[3, 7, 5], [3, 5, 9]], [[3, 64, 64], [3, 64, 64]], [[2, 1, 0], [2, 0, 5]], [[70, 3, 2], [70, 2, 0]]];
            // To save time, most numbers of ranks above 12 are tested with only one of the shapes.
            let few = ranks > 12 && ![16, 25, 31, 64].contains(&ranks);
            let shapes = if few { &all[ranks % 4..][..1] } else { &all[..] };
            for algorithm in algorithms(ranks) {
                for shapes in shapes {
                    let shapes = shapes.map(|s| s.to_vec());
                    let options = PlanOptions::default().algorithm(algorithm).accumulate(accumulate);
                    check("cmk,ckn->cmn", &shapes, ranks, &options);
                    check("cmk,ckn->ncm", &shapes, ranks, &options);
                }
            }
        }
    }
}

#[test]
fn trees_verify() {
    for ranks in 1..=9 {
        let large = [vec![3, 200, 64], vec![3, 64, 301]];
        for algorithm in algorithms(ranks) {
            let options = PlanOptions::default().algorithm(algorithm);
            check("cmk,ckn->nmc", &large, ranks, &options);
            // Sums without terms that move as sums do, and are read afterwards.
            check("[cmk,ckn->cmn],cnl->cml", &[vec![3, 7, 0], vec![3, 0, 9], vec![3, 9, 4]], ranks, &options);
        }
        for accumulate in [false, true] {
            let options = PlanOptions::default().accumulate(accumulate);
            check("[ij,jk->ik],kl->il", &[vec![40, 50], vec![50, 60], vec![60, 30]], ranks, &options);
            check("ij,jk,kl->li", &[vec![40, 50], vec![50, 60], vec![60, 30]], ranks, &options);
            check("iij,jk->k", &[vec![4, 4, 5], vec![5, 6]], ranks, &options);
            check("[ij,jk->ik]->", &[vec![4, 5], vec![5, 6]], ranks, &options);
            check("[ij,jk->ik]->k", &[vec![400, 500], vec![500, 600]], ranks, &options);
            check("[ij,jk->ik]->i", &[vec![400, 500], vec![500, 600]], ranks, &options);
            check("[ij,ji->ij]->ji", &[vec![400, 500], vec![500, 400]], ranks, &options);
            check("ij->", &[vec![4, 5]], ranks, &options);
            check("->", &[vec![]], ranks, &options);
            check("ii->i", &[vec![4, 4]], ranks, &options);
            check("iij->ji", &[vec![4, 4, 7]], ranks, &options);
            check("...ij,...jk->...ik", &[vec![2, 3, 4, 5], vec![3, 5, 6]], ranks, &options);
            check(",->", &[vec![], vec![]], ranks, &options);
        }
    }
}

fn planned(expression: &str, shapes: &[Vec<usize>], ranks: usize, algorithm: Option<AlgorithmName>) -> Plan {
    let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    shaped.plan(&Machine::new(ranks, 1), &PlanOptions::default().algorithm(algorithm)).unwrap()
}

/// Ranks whose blocks have the same extents form a class. On thousands of ranks, the verifier follows the elements of
/// only some ranks of each class.
#[test]
fn thousands_of_ranks_verify_by_classes() {
    let product = [vec![1000, 700], vec![700, 900]];
    for ranks in [7, 64, 400, 1024] {
        // The algorithm `c` cannot run, because the product has no c dimension. `slicing` is tested on fewer ranks,
        // because with this algorithm every rank is a class of its own.
        let applies =
            |a: &AlgorithmName| *a != AlgorithmName::BatchParallel && (ranks < 100 || *a != AlgorithmName::Slicing);
        for algorithm in algorithms(ranks).filter(applies) {
            let plan = planned("mk,kn->mn", &product, ranks, Some(algorithm));
            let proved = plan.verify_by_classes().unwrap_or_else(|error| panic!("{error}: {}", plan.explain()));
            assert!(proved.steps == 1 && proved.classes <= 16, "{proved:?}: {}", plan.explain());
        }
    }
    let chain = "[[ab,bc->ac],cd->ad],de->ea";
    let shapes = [vec![300, 500], vec![500, 400], vec![400, 7], vec![7, 600]];
    let plan = planned(chain, &shapes, 500, None);
    assert!(plan.verify_by_classes().unwrap().steps >= 3);
}

/// Verifying the schedules of some ranks also finds wrong or missing contents of blocks that other ranks send to them.
#[test]
fn faults_of_ranks_that_others_have_blocks_from_are_found() {
    let product = [vec![100, 70], vec![70, 90]];
    let changes: [fn(&mut Schedule) -> bool; 3] = [
        |schedule| {
            // Swaps two sends to the same peer.
            let sends = schedule.tasks.iter().enumerate().filter_map(|(id, task)| match task.action {
                Action::Send { peer, .. } => Some((peer, id)),
                _ => None,
            });
            let mut sends: Vec<(usize, usize)> = sends.collect();
            sends.sort_unstable();
            let twice = sends.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| (pair[0].1, pair[1].1));
            let Some((first, second)) = twice else { return false };
            let tasks = &mut schedule.tasks;
            let (a, b) = (tasks[first].action.clone(), tasks[second].action.clone());
            (tasks[first].action, tasks[second].action) = (b, a);
            tasks[first].action != tasks[second].action
        },
        |schedule| {
            let adds = schedule.tasks.iter_mut().find_map(|task| match &mut task.action {
                Action::Work(work) => match &mut **work {
                    Work::Contract { accumulate, .. } if *accumulate == Accumulate::Add => Some(accumulate),
                    _ => None,
                },
                _ => None,
            });
            adds.map(|accumulate| *accumulate = Accumulate::Overwrite).is_some()
        },
        |schedule| {
            let mut sends = schedule.tasks.iter_mut().filter_map(|task| match &mut task.action {
                Action::Send { peer, .. } => Some(peer),
                _ => None,
            });
            // Redirects a send to the wrong rank.
            sends.next().map(|peer| *peer = (*peer + 1) % 16).is_some()
        },
    ];
    let mut found = 0;
    // The algorithm `c` cannot run, because the product has no c dimension.
    for algorithm in algorithms(16).filter(|algorithm| *algorithm != AlgorithmName::BatchParallel) {
        let plan = planned("mk,kn->mn", &product, 16, Some(algorithm));
        let spec = plan.spec();
        follow(&|rank| plan.schedule(rank), &spec, &[0, 5]).unwrap();
        for change in changes {
            // The change is made on every rank, including the ranks that send blocks to the verified ranks 0 and 5.
            let changed = |rank: usize| {
                let mut schedule = plan.schedule(rank);
                change(&mut schedule).then_some(schedule)
            };
            if (0..16).all(|rank| changed(rank).is_none()) {
                continue;
            }
            let verdict = follow(&|rank| changed(rank).unwrap_or_else(|| plan.schedule(rank)), &spec, &[0, 5]);
            assert!(verdict.is_err(), "{}", plan.explain());
            found += 1;
        }
    }
    assert!(found >= 9, "{found}");
}

/// The proof of each rank alone accepts what the proof of all ranks together accepts.
#[test]
fn ranks_are_proved_alone() {
    for ranks in (1..=12).chain([16, 25, 31, 64]) {
        for algorithm in algorithms(ranks) {
            for shapes in [[[3, 7, 5], [3, 5, 9]], [[2, 1, 0], [2, 0, 5]], [[70, 3, 2], [70, 2, 3]]] {
                let options = PlanOptions::default().algorithm(algorithm).accumulate(ranks % 2 == 0);
                let shaped = Problem::parse("cmk,ckn->ncm").unwrap().shapes(&shapes.map(|s| s.to_vec())).unwrap();
                let plan = shaped.plan(&Machine::new(ranks, 1), &options).unwrap();
                for Step(step) in plan.each_step() {
                    let described: Vec<Described> = (0..step.ranks()).map(|rank| step.described(rank)).collect();
                    assert!(described.iter().all(Described::is_complete), "all transfers are described");
                    all_alone(&described, &step.spec()).unwrap_or_else(|error| {
                        panic!("{algorithm:?} {shapes:?} on {ranks}: {error}\n{:#?}", plan.described(error.rank))
                    });
                }
            }
        }
    }
}

/// Bytes that are counted without schedules are those of the schedules: on every rank up to 64 ranks, and for 20 random
/// plans of up to 2,000 ranks on every 97th. `EINSUM_DIST_CASES` sets another number of plans, and compares every rank.
#[test]
fn counted_bytes_are_those_of_schedules() {
    let mut rng = Rng::new(32);
    let campaign = std::env::var("EINSUM_DIST_CASES").ok();
    let cases = campaign.as_ref().map_or(20, |cases| cases.parse().expect("a number of cases"));
    let expressions = ["cmk,ckn->ncm", "[ij,jk->ik],kl->il", "[ij,jk->ik]->k", "abk,kbn->anb", "ij,jk,kl,lm->mi"];
    let small = (1..=64).flat_map(|ranks| algorithms(ranks).map(move |algorithm| (ranks, Some(algorithm))));
    let large: Vec<_> = (0..cases).map(|_| (65 + rng.below(1936), None)).collect();
    let random = |(number, (ranks, algorithm)): (usize, (usize, Option<AlgorithmName>))| {
        let expression = expressions[number % if ranks > 12 && algorithm.is_some() { 1 } else { expressions.len() }];
        let most = [9, 100, 1000][rng.below(3)];
        let mut extents: BTreeMap<char, usize> = BTreeMap::new();
        let operands = expression.replace("->ik]", "").replace('[', "");
        let mut shape = |operand: &str| -> Vec<usize> {
            operand.chars().map(|label| *extents.entry(label).or_insert_with(|| 1 + rng.below(most))).collect()
        };
        let shapes: Vec<Vec<usize>> = operands.split("->").next().unwrap().split(',').map(&mut shape).collect();
        (expression, shapes, ranks, algorithm)
    };
    let all: Vec<_> = small.chain(large).enumerate().map(random).collect();
    all.par_iter().enumerate().for_each(|(number, (expression, shapes, ranks, algorithm))| {
        let options = PlanOptions::default().algorithm(*algorithm);
        let shaped = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
        let machine = Machine { ranks_per_node: [1, 2, 6][number % 3], ..Machine::new(*ranks, 1) };
        let Ok(plan) = shaped.plan(&machine, &options) else { return };
        let sampled = |rank: usize| *ranks <= 64 || campaign.is_some() || rank % 97 == ranks % 97;
        let counted = plan.count_received(|rank, bytes| {
            assert!(
                !sampled(rank) || bytes == plan.bytes_received(rank),
                "{expression} {shapes:?}: {}",
                plan.explain()
            );
        });
        assert!(counted.is_some() || *algorithm == Some(AlgorithmName::Slicing), "{}", plan.explain());
    });
}

/// Idle ranks, the maxima and means of received bytes, and classes of ranks are those that the schedules and blocks of
/// all ranks have.
#[test]
fn idle_ranks_bytes_and_classes_are_those_of_all_ranks() {
    let mut rng = Rng::new(33);
    let expressions =
        ["cmk,ckn->ncm", "[ij,jk->ik],kl->il", "[ij,jk->ik]->k", "abk,kbn->anb", "ij,jk,kl,lm->mi", "iij->ji"];
    for (ranks, algorithm) in
        (1..=40).flat_map(|ranks| algorithms(ranks).map(Some).chain([None]).map(move |a| (ranks, a)))
    {
        let expression = expressions[rng.below(expressions.len())];
        let (least, most) = [(0, 3), (1, 9), (1, 100)][rng.below(3)];
        let mut extents: BTreeMap<char, usize> = BTreeMap::new();
        let operands = expression.replace("->ik]", "").replace('[', "");
        let mut shape = |operand: &str| -> Vec<usize> {
            operand.chars().map(|label| *extents.entry(label).or_insert_with(|| least + rng.below(most))).collect()
        };
        let shapes: Vec<Vec<usize>> = operands.split("->").next().unwrap().split(',').map(&mut shape).collect();
        let shaped = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
        let Ok(plan) = shaped.plan(&Machine::new(ranks, 1), &PlanOptions::default().algorithm(algorithm)) else {
            continue;
        };
        let text = format!("{expression} {shapes:?} {algorithm:?} on {ranks}");
        let extents = |rank: usize| -> Vec<Option<Vec<usize>>> {
            plan.values.iter().map(|v| Some(v.distribution.block(&v.shape, rank)?.extents())).collect()
        };
        let is_idle = |rank: &usize| {
            let holds = |block: &Option<Vec<usize>>| block.as_ref().is_some_and(|extents| !extents.contains(&0));
            !extents(*rank).iter().any(holds) && plan.schedule(*rank).tasks.is_empty()
        };
        assert_eq!(plan.idle_ranks(), (0..ranks).filter(is_idle).count(), "{text}");

        let received: Vec<Vec<u64>> = (0..ranks).map(|rank| plan.bytes_received(rank)).collect();
        let steps = plan.values.iter().enumerate().filter(|(_, value)| !matches!(value.source, Source::Operand(_)));
        for ((id, _), node) in steps.zip(plan.report(None).nodes) {
            let of_rank = || received.iter().map(|bytes| bytes[id]);
            let mean = of_rank().sum::<u64>() as f64 / ranks as f64;
            let planned = node.bytes_received.planned;
            assert_eq!((planned.max, planned.mean), (of_rank().max().unwrap(), mean), "{text}");
        }

        if let [step] = &plan.each_step()[..]
            && !has_equal_steps(&plan)
        {
            let chosen = step.representatives();
            let mut seen = BTreeSet::new();
            let first: Vec<usize> = (0..ranks).filter(|&rank| seen.insert(extents(rank))).collect();
            assert!(first.iter().all(|rank| chosen.contains(rank)), "{text}: {first:?} in {chosen:?}");
            let has_roles = plan.values.iter().any(|value| matches!(value.source, Source::Redistribute { .. }));
            assert!(has_roles || algorithm == Some(AlgorithmName::Cannon) || first == chosen, "{text}");
        }
    }
}
