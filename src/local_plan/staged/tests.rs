//! Unit tests of `staged`.

use super::*;
use crate::local_plan::{Caches, Isa, KernelFamily};

fn dim(extent: usize, strides: [isize; 3]) -> Dim<3> {
    Dim { extent, strides }
}

fn target(threads: usize) -> Target {
    let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
    Target { isa: Isa::Avx2, family: KernelFamily::Own, caches, threads }
}

fn plan(dims: [Vec<Dim<3>>; 4], threads: usize) -> Option<StagedPlan> {
    StagedPlan::new(&dims, Dtype::Float32, &target(threads))
}

/// The dimensions of `mk,kn->mn`.
fn tall(m: usize, n: isize, k: isize) -> [Vec<Dim<3>>; 4] {
    let [rows, cols] = [dim(m, [k, 0, n]), dim(n as usize, [0, 1, 1])];
    [vec![], vec![rows], vec![cols], vec![dim(k as usize, [1, n, 0])]]
}

#[test]
fn a_tall_matrix_is_copied_and_a_small_one_is_not() {
    let plan = plan(tall(1000, 3, 2), 1).unwrap();
    let [Some(left), None, Some(out)] = &plan.columns else { panic!("{plan:?}") };
    assert_eq!((left.stride, &left.runs[..]), (2, &[Run { offset: 0, len: 2, column: 0 }][..]));
    assert_eq!((out.stride, &out.runs[..]), (3, &[Run { offset: 0, len: 3, column: 0 }][..]));
    let lead = left.lead as isize;
    assert_eq!(plan.outs, [[0, 0, 0], [0, 1, lead], [0, 2, 2 * lead]]);
    assert_eq!(plan.terms, [[0, 0], [lead, 3]]);
    assert!(!plan.swapped && !plan.each && !plan.totals);
}

#[test]
fn elements_that_are_not_adjacent_are_several_runs() {
    // The lanes are between two short dimensions: `amb,am->m` with extents 2 and 3 for a and b.
    let m = 500;
    let sum = vec![dim(2, [3 * m as isize, m as isize, 0]), dim(3, [1, 0, 0])];
    let plan = plan([vec![dim(m, [3, 1, 1])], vec![], vec![], sum], 1).unwrap();
    let [Some(left), None, None] = &plan.columns else { panic!("{plan:?}") };
    let run = |offset: isize, column| Run { offset, len: 3, column };
    assert_eq!((left.stride, &left.runs[..]), (3, &[run(0, 0), run(3 * m as isize, 3)][..]));
    assert_eq!(plan.terms[3..5], [[3 * left.lead as isize, m as isize], [4 * left.lead as isize, m as isize]]);
    assert!(plan.each && plan.outs == [[0; 3]]);
}

#[test]
fn shares_visit_each_lane_once() {
    for (m, threads) in [(64, 1), (1_000_003, 3), (99_999, 2)] {
        let plan = plan(tall(m, 4, 4), threads).unwrap();
        let mut next = 0;
        for (start, lanes) in (0..plan.shares()).flat_map(|share| plan.blocks(share)) {
            assert_eq!(start, [4 * next as isize, 0, 4 * next as isize]);
            next += lanes;
        }
        assert_eq!(next, m);
    }
}

#[test]
fn loops_of_out_move_around_the_blocks() {
    // A block of lanes with all rows would not fit into the caches.
    let m = 2000;
    let rows = vec![dim(m, [2100, 0, 2100]), dim(700, [3, 3, 3])];
    let plan = plan([vec![], rows, vec![], vec![dim(3, [1, 1, 0])]], 1).unwrap();
    let blocks: Vec<_> = plan.blocks(0).collect();
    let lanes: usize = blocks.iter().map(|&(_, lanes)| lanes).sum();
    assert_eq!(lanes, m * 700);
    let mut starts: Vec<_> = blocks.iter().map(|(start, _)| start[OUT]).collect();
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), blocks.len());
}

#[test]
fn a_long_sum_has_totals_for_each_share() {
    let k = 1_000_000;
    let sum = vec![dim(k, [3, 2, 0])];
    let plan = plan([vec![], vec![dim(3, [1, 0, 2])], vec![dim(2, [0, 1, 1])], sum], 2).unwrap();
    assert!(plan.totals && plan.each && plan.outs.len() == 6 && plan.shares() == 2);
    let blocks = (0..2).map(|share| plan.blocks(share).count()).max().unwrap();
    let [_, sums] = plan.share_elements();
    assert!(sums >= 6 * (blocks.ilog2() as usize + 2));
}

#[test]
fn what_is_not_short_or_already_has_lanes() {
    assert!(plan(tall(63, 3, 3), 1).is_none(), "no long dimension");
    assert!(plan(tall(1000, 100, 100), 1).is_none(), "a matrix product");
    let mut backwards = tall(1000, 3, 3);
    backwards[1][0].strides[0] = -3;
    assert!(plan(backwards, 1).is_none(), "backwards");
    let lanes = [vec![], vec![dim(1000, [1, 0, 1])], vec![dim(3, [0, 1, 1000])], vec![dim(3, [1000, 3, 0])]];
    assert!(plan(lanes, 1).is_none(), "stride 1 everywhere");
}
