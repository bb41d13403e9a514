//! Tests `Objective::Bytes` against an exhaustive search of grids, and what plans by time say about fewer bytes.

use crate::common::{Rng, trees};
use einsum_dist::{Machine, NodeReport, Objective, Plan, PlanOptions, Problem};

fn plan(expression: &str, shapes: &[Vec<usize>], ranks: usize, objective: Objective) -> Plan {
    let options = PlanOptions::default().objective(objective);
    Problem::parse(expression).unwrap().shapes(shapes).unwrap().plan(&Machine::new(ranks, 1), &options).unwrap()
}

/// `extents` are those of c, m, n and k.
fn product([c, m, n, k]: [usize; 4], ranks: usize, objective: Objective) -> Plan {
    if c == 1 {
        return plan("mk,kn->mn", &[vec![m, k], vec![k, n]], ranks, objective);
    }
    plan("cmk,ckn->cmn", &[vec![c, m, k], vec![c, k, n]], ranks, objective)
}

/// The words that the busiest rank receives in a run.
fn words(plan: &Plan) -> u64 {
    let mut most = 0;
    plan.count_received(|_, bytes| most = most.max(bytes.iter().sum::<u64>())).unwrap();
    most / plan.dtype.size() as u64
}

/// The words with the first tiles, which are the largest, if tiles that ranks share are divided evenly.
fn words_of(extents: [usize; 4], parts: [usize; 4]) -> u64 {
    let [c, m, n, k] = [0, 1, 2, 3].map(|at| extents[at].div_ceil(parts[at]));
    let [left, right, out] = [c * m * k, c * k * n, c * m * n];
    let [_, pm, pn, pk] = parts;
    (left - left / pn + right - right / pm + out.div_ceil(pk) * (pk - 1)) as u64
}

/// The fewest words of all grids that leave at most 3 % of the ranks, or one, idle; `None` if there is no such grid.
fn best(extents: [usize; 4], ranks: usize) -> Option<(u64, [usize; 4])> {
    let least = (ranks - (ranks * 3 / 100).max(1)).max(2);
    let mut best: Option<(u64, [usize; 4])> = None;
    for c in 1..=ranks.min(extents[0]) {
        for m in 1..=(ranks / c).min(extents[1]) {
            for n in 1..=(ranks / (c * m)).min(extents[2]) {
                for k in least.div_ceil(c * m * n)..=(ranks / (c * m * n)).min(extents[3]) {
                    let found = (words_of(extents, [c, m, n, k]), [c, m, n, k]);
                    best = Some(best.map_or(found, |best| best.min(found)));
                }
            }
        }
    }
    best
}

/// The words by which shares of tiles differ from even ones, because they are whole indices of a dimension.
fn rounding(extents: [usize; 4], parts: [usize; 4]) -> u64 {
    let [c, m, n, k] = [0, 1, 2, 3].map(|at| extents[at].div_ceil(parts[at]));
    let [_, pm, pn, pk] = parts;
    let line = |tile: [usize; 3], received: usize| {
        (tile.iter().product::<usize>() / tile.iter().max().unwrap() * received) as u64
    };
    line([c, m, k], pn.min(2) - 1) + line([c, k, n], pm.min(2) - 1) + line([c, m, n], pk - 1)
}

/// Returns whether there is a grid to compare with.
fn is_best(extents: [usize; 4], ranks: usize) -> bool {
    let Some((least, grid)) = best(extents, ranks) else { return false };
    // A tiny operand is replicated, which takes more words than `words_of` counts.
    let ([c, m, n, k], [_, pm, pn, _]) = (extents, grid);
    if [(c * m * k, pn), (c * k * n, pm)].iter().any(|&(all, sharing)| sharing >= all.max(16)) {
        return false;
    }
    let planned = words(&product(extents, ranks, Objective::Bytes));
    let most = (least as f64 * 1.02).ceil() as u64 + rounding(extents, grid);
    assert!(planned <= most, "{planned} words, {least} with {grid:?}: {extents:?} on {ranks} ranks");
    true
}

#[test]
fn grids_of_large_products_are_the_best() {
    let shapes = [
        [1, 16384, 16384, 16384],
        [1, 17408, 17408, 3_735_552],
        [1, 3_735_552, 17408, 17408],
        [1, 131_072, 131_072, 512],
    ];
    for shape in shapes {
        for ranks in [4, 7, 16, 36, 64, 65, 127, 128, 512, 576, 1000, 1021, 1024, 2048] {
            assert!(is_best(shape, ranks));
        }
    }
}

#[test]
fn grids_of_random_products_are_the_best() {
    let (mut rng, mut compared) = (Rng::new(40), 0);
    while compared < 150 {
        let mut extent = |most: f64| most.powf(rng.below(1001) as f64 / 1000.0) as usize;
        let extents = [extent(9.0), extent(20_000.0), extent(20_000.0), extent(20_000.0)];
        let ranks = if rng.below(2) == 0 { 2 + rng.below(62) } else { 64 + rng.below(1500) };
        // The search does not count that a rank receives whole elements.
        let large = best(extents, ranks).is_some_and(|(words, _)| words > 10_000);
        compared += usize::from(large && is_best(extents, ranks));
    }
}

#[test]
fn plans_by_bytes_are_correct_and_receive_no_more() {
    let mut rng = Rng::new(41);
    for round in 0..60 {
        let extents = [0; 4].map(|_| rng.below(if round < 20 { 3 } else { 90 }));
        let ranks = 2 + rng.below(11);
        let [time, bytes] = Objective::ALL.map(|objective| product(extents, ranks, objective));
        bytes.verify().unwrap();
        assert_ne!(time.fingerprint(), bytes.fingerprint());
        // By time, rank 0 may have all tensors.
        let nodes = time.report(None).nodes;
        let on_one_rank = |node: &NodeReport| matches!(node.algorithm, Some("local" | "master-worker"));
        if time.idle_ranks() <= bytes.idle_ranks() && !nodes.iter().any(on_one_rank) {
            assert!(words(&bytes) <= words(&time), "{extents:?} on {ranks} ranks");
        }
    }
}

#[test]
fn trees_by_bytes_are_correct() {
    for network in trees().into_iter().take(6) {
        for ranks in [3, 8] {
            let plan = plan(&network.expression, &network.shapes(), ranks, Objective::Bytes);
            plan.verify().unwrap();
            assert_eq!(plan.report(None).objective, "bytes");
        }
    }
}

#[test]
fn plans_by_time_show_the_candidate_with_fewer_bytes() {
    let cube = [1, 16384, 16384, 16384];
    let time = product(cube, 1024, Objective::Time);
    let report = time.report(None);
    let node = report.nodes.last().unwrap();
    let fewest = node.fewest_bytes.as_ref().unwrap();
    let (least, _) = best(cube, 1024).unwrap();
    assert_eq!((node.algorithm, fewest.algorithm, report.objective), (Some("cannon"), "grid", "time"));
    assert!(fewest.bytes <= 1.02 * 4.0 * least as f64 && fewest.bytes * 2.0 < node.bytes_received.planned.max as f64);
    assert!(fewest.predicted_seconds > node.predicted_seconds);
    assert!(time.explain().to_string().contains("receives only"));
    let bytes = product(cube, 1024, Objective::Bytes);
    assert!(bytes.report(None).nodes.iter().all(|node| node.fewest_bytes.is_none()));
    let text = bytes.explain().to_string();
    assert!(text.contains(", fewest bytes\n") && !text.contains("receives only"), "{text}");
}
