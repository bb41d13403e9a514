//! Compares the words that grids send between nodes, if nodes and the ranks of a node both cut dimensions, with those of
//! grids whose ranks are numbered along whole cuts.

use crate::common::on_grid;
use einsum_dist::algorithm::{Grid, GridFit};
use einsum_dist::dims::{Kinds, Label};
use einsum_dist::plan::AlgorithmName;
use einsum_dist::schedule::Action;
use einsum_dist::schedule::collective::CollectiveAlgorithm;
use einsum_dist::{Machine, Plan, PlanOptions, Problem};

/// Words that all ranks receive from other nodes of `node` ranks, and from all ranks. The schedules are proved.
fn words(plan: &mut Plan, grid: &Grid, node: usize) -> [u64; 2] {
    on_grid(plan, grid.clone());
    plan.verify().unwrap_or_else(|fault| panic!("{grid:?}: {fault}"));
    let (mut words, mut all) = (0, 0);
    for rank in 0..plan.ranks() {
        let schedule = plan.schedule(rank);
        for task in &schedule.tasks {
            if let Action::Recv { peer, .. } = task.action {
                let received = schedule.bytes(&task.action) / plan.dtype.size() as u64;
                all += received;
                words += if peer / node == rank / node { 0 } else { received };
            }
        }
    }
    [words, all]
}

/// Words between nodes for the best order of whole cuts and for cuts among and inside nodes, and all words for both.
fn compare([m, n, k]: [usize; 3], ranks: usize, node: usize) -> [[u64; 2]; 2] {
    let [labels @ .., _] = [0, 1, 2, 3].map(Label);
    let kinds = Kinds { c: vec![], m: vec![labels[0]], k: vec![labels[1]], n: vec![labels[2]] };
    let fit = GridFit { kinds: &kinds, extents: &[m, k, n], uncut: &[], ranks, memory: None };
    let grid = fit.best(0).expect("a grid");
    let options = PlanOptions::default().algorithm(AlgorithmName::Grid);
    let problem = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![m, k], vec![k, n]]).unwrap();
    let mut plan = problem.plan(&Machine::new(ranks, 1), &options).unwrap();
    let whole = grid.orders().iter().map(|grid| words(&mut plan, grid, node)).min().unwrap();
    let twice = fit.in_nodes(&grid, node, CollectiveAlgorithm::Ring).expect("whole nodes");
    assert_eq!(twice.ranks(), grid.ranks());
    [whole, words(&mut plan, &twice, node)]
}

#[test]
fn cuts_among_and_inside_nodes_save_words_between_them() {
    for (extents, ranks, node, at_most) in [
        ([64, 64, 64], 64, 4, 0.85),
        ([72, 72, 72], 36, 6, 0.9),
        ([61, 67, 71], 64, 8, 0.75),
        ([48, 48, 960], 24, 4, 0.3),
        ([960, 24, 24], 16, 2, 0.55),
        ([96, 96, 3], 36, 4, 0.8),
    ] {
        let [[whole, all], [twice, as_many]] = compare(extents, ranks, node);
        assert!(twice as f64 <= at_most * whole as f64, "{extents:?} on {ranks}: {twice} and {whole}");
        assert!(as_many as f64 <= 1.02 * all as f64, "{extents:?} on {ranks}: {as_many} and {all} in total");
    }
}
