//! Unit tests of `staged`.

use super::*;
use crate::local_plan::{Caches, Isa, KernelFamily};

fn dim(extent: usize, strides: [isize; 3]) -> Dim<3> {
    Dim { extent, strides }
}

fn plan_for(isa: Isa, dims: [Vec<Dim<3>>; 4], threads: usize) -> Option<StagedPlan> {
    let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
    StagedPlan::new(&dims, Dtype::Float32, &Target { isa, family: KernelFamily::Own, caches, threads })
}

/// A plan with columns, because portable vectors have no windows.
fn plan(dims: [Vec<Dim<3>>; 4], threads: usize) -> Option<StagedPlan> {
    plan_for(Isa::Generic, dims, threads)
}

fn windows(dims: [Vec<Dim<3>>; 4]) -> Option<Windows> {
    plan_for(Isa::Avx2, dims, 1)?.windows
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

#[test]
fn a_tall_matrix_has_windows_and_a_small_one_is_constant() {
    // Vectors have 8 elements, so three of them contain 8 rows of 3.
    let windows = windows(tall(100_000, 3, 3)).unwrap();
    assert_eq!((windows.rows, windows.vectors, windows.sizes), (8, 3, [3, 0, 3]));
    assert_eq!(windows.constants[..10], [0, 1, 2, 0, 1, 2, 0, 1, 3, 4]);
    // The second vector begins with the last element of row 2. Its first windows are at multiples of 8, but the last
    // term, up to the third element of row 5, needs others.
    let picks = |term: usize| (windows.picks[3 + term][0].at, &windows.picks[3 + term][0].words[..8]);
    assert_eq!(picks(0), ([0, 8], &[6, 9, 9, 9, 12, 12, 12, 15][..]));
    assert_eq!(picks(2), ([8, 16], &[0, 3, 3, 3, 6, 6, 6, 9][..]));
}

#[test]
fn windows_end_with_the_block() {
    // The last vector of a pattern needs elements up to its end, but a window of them may end later.
    let windows = windows(tall(100_000, 5, 3)).unwrap();
    for [pick, _] in &windows.picks {
        let reach = pick.at.iter().max().unwrap() + 8;
        assert!(reach <= ((windows.rows + windows.edge) * 3) as isize, "{pick:?}");
    }
    assert!(windows.rest() >= windows.rows + windows.edge - 1);
}

#[test]
fn a_batch_has_windows_of_both_operands() {
    // `bij,bjk->bik`
    let (batch, [i, k]) = (dim(50_000, [6, 12, 8]), [dim(2, [3, 0, 4]), dim(4, [0, 1, 1])]);
    let windows = windows([vec![batch], vec![i], vec![k], vec![dim(3, [1, 4, 0])]]).unwrap();
    assert_eq!((windows.rows, windows.vectors, windows.sizes), (1, 1, [6, 12, 8]));
    assert!(windows.constants.is_empty());
    let picked: Vec<_> = windows.picks.iter().map(|picks| picks.each_ref().map(|pick| pick.words[4])).collect();
    assert_eq!(picked, [[3, 0], [4, 4], [5, 0]]);
}

#[test]
fn adjacent_terms_are_segments() {
    // `bij,bj->bi`: two lanes of 4 sums fill a vector, and six vectors of products have the order of the first operand.
    let batch = vec![dim(100_000, [24, 6, 4])];
    let windows = windows([batch, vec![dim(4, [6, 0, 1])], vec![], vec![dim(6, [1, 1, 0])]]).unwrap();
    assert_eq!((windows.segment, windows.rows, windows.vectors, windows.plain), (6, 2, 1, [true, false]));
    assert_eq!(windows.picks[5][0].at, [40, 40]);
    assert_eq!(windows.picks[0][1].words[..8], [0, 1, 2, 3, 4, 5, 0, 1]);
    assert_eq!(windows.picks[2][1].words[..8], [4, 5, 0, 1, 2, 3, 4, 5]);
}

#[test]
fn gaps_and_distant_elements_have_no_windows() {
    let mut gaps = tall(100_000, 3, 3);
    gaps[1][0].strides[0] = 4;
    assert!(windows(gaps).is_none(), "gaps between rows");
    assert!(windows(tall(100_000, 2, 9)).is_none(), "a vector needs elements of four rows of 9");
    assert!(plan(tall(100_000, 3, 3), 1).unwrap().windows.is_none(), "portable vectors");
}
